//! What assistants and people present: references looked up in real trees, and `review present`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use review_runner::app::{
    ClientConnection, ForgeEnvironment, Overrides, PresentedDocument, ProcessEnv, ProviderEnvironment, Service,
    ServiceOptions,
};
use review_runner::domain::presented::{DocumentSelector, PresentMode, PresentReview};

use crate::support::{Program, Ran, TestRepo};

const REVIEW: &str = "# Review\n\nSee [main](src/main.rs#L2), [all](src/main.rs?fn main) and src/lib.rs:1.\n";

fn project() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("src/main.rs", "// the program\nfn main() {}\n").write("src/lib.rs", "//! A library.\n");
    repo.write("docs/guide.md", "# Guide\n").commit("begin");
    repo
}

fn serve(directory: &Path, roots: &[&Path], state: &Path) -> Service {
    let options = ServiceOptions {
        directory: directory.to_owned(),
        roots: roots.iter().map(|root| (*root).to_owned()).collect(),
        flags: Overrides::default(),
        allow_write: false,
        log: None,
    };
    let (user_settings, environment, providers) = (None, Vec::new(), ProviderEnvironment::default());
    let state = state.to_owned();
    let (forge, store) = (ForgeEnvironment::default(), review_runner::app::Store::at(&state));
    Service::open(options, ProcessEnv { user_settings, environment, providers, forge, state, store, parser: None })
        .expect("a service")
}

fn present(service: &Service, connection: &ClientConnection, base: Option<&Path>, content: &str) -> PresentedDocument {
    let ask = PresentReview {
        content: content.to_owned(),
        mode: PresentMode::Replace,
        base: base.map(Path::to_owned),
        document: DocumentSelector::Own,
    };
    service.present(connection, ask).expect("it is presented")
}

/// What became of each reference: its place, or what is wrong.
fn found(shown: &PresentedDocument) -> Vec<String> {
    let told = shown.presented.references.iter().map(|reference| match &reference.found {
        Ok(place) => {
            let lines = place.lines.map_or(String::new(), |lines| format!(":{}", lines.start()));
            format!("{}{lines}", place.path)
        }
        Err(broken) => format!("! {}", broken.why),
    });
    told.collect()
}

#[test]
fn references_are_looked_up_on_the_disk() {
    let repo = project();
    repo.write("src/main.rs", "// the program\n\nfn main() {}\n");
    let service = serve(repo.root(), &[], &repo.beside("state"));
    let shown = present(&service, &ClientConnection::Process, None, REVIEW);
    assert_eq!(found(&shown), ["src/main.rs:2", "src/main.rs:3", "src/lib.rs:1"]);
    let preview = |shown: &PresentedDocument| shown.presented.references[1].found.clone().expect("a place").preview;
    assert_eq!(preview(&shown).as_deref(), Some("fn main() {}"));
    let text = "[main](main.rs#L1) [up](../docs/guide.md) [from the root](src/lib.rs#L1) [no](nowhere.rs)";
    let below = present(&service, &ClientConnection::Process, Some(Path::new("src")), text);
    assert_eq!(found(&below)[..3], ["src/main.rs:1", "docs/guide.md", "src/lib.rs:1"]);
    assert!(found(&below)[3].starts_with("! "), "{:?}", found(&below));
}

#[test]
fn references_of_a_bare_repository_are_looked_up_in_its_head() {
    let repo = project();
    let bare = repo.beside("bare.git");
    repo.git(["clone", "-q", "--bare", ".", &bare.to_string_lossy()]);
    let service = serve(&bare, &[], &repo.beside("state"));
    let shown = present(&service, &ClientConnection::Process, None, REVIEW);
    assert_eq!(found(&shown), ["src/main.rs:2", "src/main.rs:2", "src/lib.rs:1"]);
}

#[test]
fn references_outside_of_a_repository_are_told_as_such() {
    let folder = TestRepo::folder_only();
    folder.write("src/main.rs", "fn main() {}\n");
    let service = serve(folder.root(), &[], &folder.beside("state"));
    let shown = present(&service, &ClientConnection::Process, None, REVIEW);
    assert_eq!(shown.presented.markdown, REVIEW, "it is kept all the same");
    let told = found(&shown);
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told.iter().all(|told| told.contains("is in no git repository, so it was not looked up")), "{told:?}");
    let note = shown.note.unwrap_or_default();
    assert!(note.contains("with a base (baseUri) in the git repository"), "what to do next: {note}");
}

#[test]
fn what_the_project_excludes_is_not_shown() {
    let repo = project();
    repo.write(".review.toml", "exclude = [\"src/lib.rs\"]\n").commit("exclude");
    let service = serve(repo.root(), &[], &repo.beside("state"));
    let shown = present(&service, &ClientConnection::Process, None, REVIEW);
    assert_eq!(found(&shown)[..2], ["src/main.rs:2", "src/main.rs:2"]);
    assert!(found(&shown)[2].contains("excluded"), "{:?}", found(&shown));
}

#[test]
fn settings_that_cannot_be_read_keep_nothing_from_being_presented() {
    let repo = project();
    repo.write(".review.toml", "nonsense = 1\n").commit("nonsense");
    let service = serve(repo.root(), &[], &repo.beside("state"));
    let told = found(&present(&service, &ClientConnection::Process, None, REVIEW));
    assert!(
        told.iter().all(|told| told.starts_with("! it was not looked up: ") && told.contains("nonsense")),
        "{told:?}"
    );
}

#[test]
fn nothing_of_a_repository_is_told_beyond_the_folders_of_the_server() {
    let repo = project();
    let elsewhere = TestRepo::folder_only();
    let service = serve(elsewhere.root(), &[&repo.root().join("docs")], &repo.beside("state"));
    let base = repo.root().join("docs");
    let told = found(&present(
        &service,
        &ClientConnection::Process,
        Some(&base),
        "[in](guide.md#L1) [out](../src/main.rs#L2)",
    ));
    assert!(told.iter().all(|told| told.contains("is outside the folders this server may look in")), "{told:?}");
    // Git would follow such settings anywhere.
    let hostile = TestRepo::new();
    hostile.write("a", "a\n").commit("begin");
    hostile.git(["config", "core.worktree", &repo.root().to_string_lossy()]);
    let service = serve(elsewhere.root(), &[hostile.root()], &repo.beside("state"));
    let told = found(&present(&service, &ClientConnection::Process, Some(hostile.root()), "[out](src/main.rs#L2)"));
    assert!(told[0].starts_with("! ") && !told[0].contains("program"), "{told:?}");
}

#[test]
fn requests_that_stand_alone_share_a_document_of_their_repository() {
    let (repo, other) = (project(), project());
    let service = serve(repo.root(), &[other.root()], &repo.beside("state"));
    let id = |base: Option<&Path>| present(&service, &ClientConnection::Stateless, base, "x").presented.id;
    let own = id(None);
    assert_eq!(id(Some(&repo.root().join("src"))), own);
    assert_ne!(id(Some(other.root())), own);
}

fn program(repo: &TestRepo) -> Program {
    repo.write("review.md", REVIEW);
    Program::in_folder(repo.root())
}

fn documents(program: &Program) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(program.home("state/review/presented")).expect("a folder");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

fn id_of(ran: &Ran) -> String {
    let line = ran.stderr.lines().find(|line| line.contains("--show")).expect("it says where it is kept");
    line.rsplit(' ').next().expect("an id").to_owned()
}

#[test]
fn a_file_is_presented_and_shown_again() {
    let repo = project();
    let program = program(&repo);
    let made = program.words("present review.md --format markdown --check").ended(0);
    let id = id_of(&made);
    assert_eq!(made.stderr, format!("review: kept; print it again with: review present --show {id}\n"));
    for name in [id.as_str(), &id[..8], "last"] {
        let again = program.words(&format!("present --show {name} --format markdown")).ended(0);
        assert_eq!((again.text(), again.stderr.as_str()), (made.text(), ""));
    }
    let folder = documents(&program).remove(0);
    assert_eq!(std::fs::read_to_string(folder.join("document.md")).expect("it is kept"), REVIEW);
    let permalinks = program.words("present --show last --permalink https://forge.example/o/r/blob/0123abc").ended(0);
    assert!(
        permalinks.text().contains("(https://forge.example/o/r/blob/0123abc/src/main.rs#L2)"),
        "{}",
        permalinks.text()
    );
    let plain = program.words("present --show last").ended(0);
    assert!(plain.text().contains("src/main.rs:2") && !plain.text().contains('\x1b'), "{}", plain.text());
}

#[test]
fn a_document_is_written_part_by_part() {
    let repo = project();
    let program = program(&repo);
    let id = id_of(&program.words("present review.md").ended(0));
    let more = program.fed(&format!("present - --into {id} --mode append"), b"## Next steps\n\nNone.\n").ended(0);
    assert_eq!(id_of(&more), id);
    repo.write("new.md", "Many.\n");
    let args = ["present", "new.md", "--into", "last", "--mode", "update-section", "--section", "next steps"];
    program.run(args).ended(0);
    let text = std::fs::read_to_string(documents(&program).remove(0).join("document.md")).expect("it is kept");
    assert!(text.starts_with(REVIEW) && text.contains("## Next steps\n\nMany.\n"), "{text}");
    let args = ["present", "new.md", "--into", "last", "--mode", "update-section", "--section", "Not there"];
    let told = program.run(args).ended(0);
    assert!(told.stderr.contains("There is no section \"Not there\": it was added at the end."), "{}", told.stderr);
    let outside = repo.beside("outside");
    std::fs::create_dir(&outside).expect("a folder");
    let args = ["present", "new.md", "--into", "last", "--mode", "append", "--base", &outside.to_string_lossy()];
    let refused = program.run(args).ended(2);
    assert!(refused.stderr.contains("is outside of"), "{}", refused.stderr);
}

#[test]
fn a_base_may_be_anywhere_for_a_person() {
    let repo = project();
    let elsewhere = TestRepo::folder_only();
    elsewhere.write("review.md", "[main](main.rs#L2) and [lib](src/lib.rs)\n");
    let program = Program::in_folder(elsewhere.root());
    let base = repo.root().join("src");
    let words = |more: &[&str]| {
        [&["present", "review.md", "--check"], more].concat().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    program.run(words(&["--base", &base.to_string_lossy()])).ended(0);
    // The document remembers where it starts.
    program.run(words(&["--into", "last", "--mode", "append"])).ended(0);
    program.run(words(&[])).ended(2);
}

#[test]
fn broken_references_are_told_with_what_is_near() {
    let repo = project();
    let program = program(&repo);
    repo.write("broken.md", "[a](src/mian.rs#L2) [b](src/main.rs#L99) [c](src/main.rs#L1)\n");
    let told = program.words("present broken.md").ended(0);
    let lines: Vec<&str> = told.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{}", told.stderr);
    assert!(lines[1].starts_with("review: [a](src/mian.rs#L2): ") && lines[1].contains("src/main.rs"), "{}", lines[1]);
    assert!(lines[2].starts_with("review: [b](src/main.rs#L99): "), "{}", lines[2]);
    program.words("present broken.md --check").ended(2);
    program.words("present --show last --check").ended(2);
}

#[test]
fn what_was_edited_by_hand_is_looked_up_anew() {
    let repo = project();
    let program = program(&repo);
    program.words("present review.md --check").ended(0);
    let file = documents(&program).remove(0).join("document.md");
    std::fs::write(file, "[gone](src/gone.rs)\n").expect("it is edited");
    let ran = program.words("present --show last --check").ended(2);
    assert!(ran.stderr.contains("[gone](src/gone.rs): "), "{}", ran.stderr);
}

#[test]
fn old_documents_go_with_old_runs() {
    let repo = project();
    let program = program(&repo);
    program.words("present review.md").ended(0);
    let old = documents(&program).remove(0);
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(40 * 24);
    std::fs::File::open(&old).and_then(|folder| folder.set_modified(long_ago)).expect("an old folder");
    program.words("prune").ended(0);
    assert!(documents(&program).is_empty());
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let repo = project();
    let program = program(&repo);
    program.words("present review.md").ended(0);
    let mode = |path: &Path| std::fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
    let folder = documents(&program).remove(0);
    assert_eq!((mode(&program.home("state/review")), mode(&folder)), (0o700, 0o700));
    for name in ["document.md", "document.json"] {
        assert_eq!(mode(&folder.join(name)), 0o600, "{name}");
    }
    let record: Value =
        serde_json::from_slice(&std::fs::read(folder.join("document.json")).expect("it is kept")).expect("JSON");
    assert_eq!((&record["version"], record["references"].as_array().map(Vec::len)), (&Value::from(1), Some(3)));
}
