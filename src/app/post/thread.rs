//! The pages of a posted review, from the delivery receipt of its run. Main function: [`posted_url`].

use serde_json::Value;

use super::RECEIPT;
use crate::app::context::environment::ProcessEnv;
use crate::domain::finding::FindingId;
use crate::domain::run::RunId;

/// Upper bound on the bytes of an address.
const LONGEST: usize = 2048;

/// Finds the page of a finding on its pull request, else that of the review or its summary; `None` if the run was not posted.
pub fn posted_url(around: &ProcessEnv, run: RunId, finding: &FindingId) -> Option<String> {
    let receipt: Value = serde_json::from_slice(&around.store.read(run, RECEIPT).ok()?).ok()?;
    let items = receipt["items"].as_array().into_iter().flatten();
    let of_finding = items.filter(|item| item["finding"] == finding.0.as_str()).map(|item| &item["url"]);
    let urls = of_finding.chain([&receipt["review_url"], &receipt["summary"]["url"]]);
    urls.filter_map(Value::as_str).find(|url| is_page(url)).map(str::to_owned)
}

/// Checks that an address can be given to a browser. A forge wrote it.
fn is_page(url: &str) -> bool {
    let is_http = url.starts_with("https://") || url.starts_with("http://");
    is_http && url.len() <= LONGEST && url.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_the_web_are_opened() {
        assert!(is_page("https://github.com/a/b/pull/1#discussion_r1"));
        for other in ["file:///etc/passwd", "javascript:alert(1)", "https://a b", "https://a\u{202e}", ""] {
            assert!(!is_page(other), "{other}");
        }
    }
}
