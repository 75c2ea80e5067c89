//! A pull request to begin with. Main function: [`demo`].

use super::fake::Fake;
use super::pull::Pull;
use crate::support::TestRepo;

/// The sixty lines of `a.txt`, with some of them changed.
pub fn lines(changed: &[usize]) -> String {
    (1..=60).map(|n| if changed.contains(&n) { format!("changed {n}\n") } else { format!("line {n}\n") }).collect()
}

/// `octo/demo#7` by `ada`: changes the lines 10 and 40 of sixty, on the branch `feature`, which is checked out.
pub fn demo(fake: &Fake) -> (TestRepo, Pull) {
    let work = TestRepo::new();
    work.write("a.txt", lines(&[])).commit("base");
    work.branch("feature").write("a.txt", lines(&[10, 40])).commit("head");
    let pull = fake.pull("octo", "demo", 7).title("Change two lines").body("Because.").open(&work, "main", "feature");
    (work, pull)
}
