//! `review://status`: the state of the server.

use serde_json::json;

use super::{Contents, Family, LOCAL, Listed};

const URI: &str = "review://status";

pub(super) const FAMILY: Family = Family {
    list: |_| {
        Ok(vec![Listed {
            uri: URI.to_owned(),
            name: "status".to_owned(),
            description: "How this server is doing: version, folders, calls, failures, times".to_owned(),
            mime: "application/json",
            changed: None,
        }])
    },
    read: |service, uri| {
        (uri == URI).then(|| {
            let mut status = service.ledger().summary();
            status["version"] = json!(env!("CARGO_PKG_VERSION"));
            status["repository"] = json!(service.roots().start().display().to_string());
            Ok(Contents { mime: "application/json", text: format!("{status:#}") })
        })
    },
    ..LOCAL
};
