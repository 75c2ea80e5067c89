//! Runs as they are, and as somebody may have left them.

use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

struct Fixture {
    folder: tempfile::TempDir,
    runs: BuildRuns,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let runs = BuildRuns::at(folder.path());
        Self { folder, runs }
    }

    fn saved(&self, log: &[u8]) -> String {
        let mut run =
            self.runs.start("cargo.build", Path::new("/w"), &["cargo".to_owned(), "build".to_owned()]).unwrap();
        log.split_inclusive(|byte| *byte == b'\n').for_each(|line| run.append(line).unwrap());
        run.finish(None).unwrap().run_id.to_string()
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.path().join("builds").join(id)
    }
}

fn numbers(page: &LogPage) -> (usize, u64, u64, u64, bool) {
    (page.lines.len(), page.start_line, page.end_line, page.total_lines, page.has_more)
}

#[test]
fn a_run_is_private_and_says_what_ran() {
    let of = Fixture::new();
    let run = of.runs.start("cargo.build", Path::new("/w"), &["cargo".to_owned(), "build".to_owned()]).unwrap();
    let id = run.id().to_string();
    let (meta, state) = of.runs.meta(&id).unwrap();
    assert_eq!((state, meta.completed_at, meta.pid), (BuildRunState::Running, None, std::process::id()));
    run.finish(None).unwrap();
    of.runs.save_diagnostics(&id, &[]).unwrap();
    let (meta, state) = of.runs.meta(&id).unwrap();
    assert_eq!((state, meta.command), (BuildRunState::Completed, vec!["cargo".to_owned(), "build".to_owned()]));
    let json: serde_json::Value = serde_json::from_slice(&fs::read(of.path(&id).join(META)).unwrap()).unwrap();
    for name in ["runId", "tool", "startedAt", "completedAt", "exitCode", "cwd", "command"] {
        assert!(json.get(name).is_some(), "{name}");
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&of.path(&id)), mode(&of.folder.path().join("builds"))), (0o700, 0o700));
    for name in [LOG, INDEX, DIAGNOSTICS, META, LOCK] {
        assert_eq!(mode(&of.path(&id).join(name)), 0o600, "{name}");
    }
}

#[test]
fn pages_have_edges() {
    let of = Fixture::new();
    let text: Vec<String> = (1..=600).map(|line| format!("\u{1b}[31mline {line}\u{1b}[0m\r\n")).collect();
    let id = of.saved(text.concat().as_bytes());
    let lines = |start, count| of.runs.lines(&id, start, count).unwrap();
    let page = lines(None, None);
    assert_eq!(numbers(&page), (50, 1, 50, 600, true));
    assert_eq!((page.lines[0].as_str(), page.lines[49].as_str()), ("line 1", "line 50"));
    assert_eq!(numbers(&lines(Some(1), Some(10_000))), (500, 1, 500, 600, true));
    assert_eq!(numbers(&lines(Some(2), Some(-3))), (1, 2, 2, 600, true));
    assert_eq!(numbers(&lines(Some(600), Some(2))), (1, 600, 600, 600, false));
    assert_eq!(numbers(&lines(Some(601), Some(2))), (0, 601, 600, 600, false));
    assert_eq!(numbers(&lines(Some(i64::MAX), None)).0, 0);
    let none = of.saved(b"");
    assert_eq!(numbers(&of.runs.lines(&none, None, None).unwrap()), (0, 1, 0, 0, false));
    for start in [0, -1, i64::MIN] {
        let error = of.runs.lines(&id, Some(start), None).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.code()), ("startLine must be >= 1", Some("INVALID_START_LINE")));
    }
    let error = of.runs.lines("../../etc", None, None).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.code()), ("Invalid runId: ../../etc", Some("INVALID_RUN_ID")));
    let version_1 = "c232ab00-9414-11ec-b3c8-9f6bdeced846";
    assert_eq!(of.runs.lines(version_1, None, None).unwrap_err().code(), Some("INVALID_RUN_ID"));
    let other = Uuid::new_v4().to_string();
    let error = of.runs.lines(&other, None, None).unwrap_err();
    assert_eq!((error.to_string(), error.code()), (format!("Run not found: {other}"), Some("RUN_NOT_FOUND")));
    assert_eq!(of.runs.lines(&other.replace('-', ""), None, None).unwrap_err().code(), Some("INVALID_RUN_ID"));
}

#[test]
fn raw_bytes_are_pages_too_and_keep_characters_whole() {
    let of = Fixture::new();
    let id = of.saved("aé€b\n".as_bytes());
    let raw = |offset, length| of.runs.raw(&id, offset, length).unwrap();
    let page = raw(0, None);
    assert_eq!((page.data.as_str(), page.length, page.total_bytes, page.has_more), ("aé€b\n", 8, 8, false));
    let page = raw(0, Some(5));
    assert_eq!((page.data.as_str(), page.length, page.has_more), ("aé", 3, true));
    assert_eq!(raw(3, Some(4)).data, "€b");
    assert_eq!(raw(1, Some(1)).length, 1, "a page that is too small for a character goes on all the same");
    let page = raw(100, None);
    assert_eq!((page.data.as_str(), page.offset, page.length, page.has_more), ("", 100, 0, false));
    let long = of.saved(&vec![b'x'; 100_000]);
    assert_eq!(of.runs.raw(&long, 0, Some(i64::MAX)).unwrap().length, MOST_BYTES);
    assert_eq!(of.runs.raw(&long, 0, Some(-1)).unwrap().length, 1);
    let page = of.runs.lines(&long, None, None).unwrap();
    assert!(page.lines[0].len() < 17_000 && page.lines[0].ends_with("[100000 bytes]"));
}

#[test]
fn a_run_can_be_read_while_it_is_in_progress() {
    let of = Fixture::new();
    let mut run = of.runs.start("t", Path::new("/w"), &[]).unwrap();
    let id = run.id().to_string();
    run.append(b"one\n").unwrap();
    run.append(b"tw").unwrap();
    let page = of.runs.lines(&id, None, None).unwrap();
    assert_eq!((page.lines, page.total_lines), (vec!["one".to_owned(), "tw".to_owned()], 2));
    run.append(b"o").unwrap();
    run.finish(None).unwrap();
    assert_eq!(of.runs.lines(&id, Some(2), None).unwrap().lines, ["two"]);
}

/// Counts what is read.
struct Counted<R> {
    inner: R,
    read: u64,
}

impl<R: io::Read> io::Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.read += read as u64;
        Ok(read)
    }
}

impl<R: io::Seek> io::Seek for Counted<R> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

#[test]
fn a_log_of_50_mb_is_not_read_for_a_page() {
    let of = Fixture::new();
    let line = format!("{}\n", "x".repeat(99));
    let mut run = of.runs.start("t", Path::new("/w"), &[]).unwrap();
    (0..500_000).for_each(|_| run.append(line.as_bytes()).unwrap());
    let id = run.finish(None).unwrap().run_id.to_string();
    assert_eq!(fs::metadata(of.path(&id).join(LOG)).unwrap().len(), 50_000_000);
    let index: LogIndex = serde_json::from_slice(&fs::read(of.path(&id).join(INDEX)).unwrap()).unwrap();
    for start in [1, 250_000, 499_951] {
        let mut log = Counted { inner: fs::File::open(of.path(&id).join(LOG)).unwrap(), read: 0 };
        let page = page::lines(&mut log, &index, start, 50).unwrap();
        assert_eq!((page.lines.len(), page.total_lines, page.has_more), (50, 500_000, start < 499_951));
        assert!(log.read < 256 << 10, "{} bytes for a page of 5 kB", log.read);
    }
    // Without an index everything is counted, but still only a page is kept.
    let page = page::lines(&mut fs::File::open(of.path(&id).join(LOG)).unwrap(), &LogIndex::default(), 400_000, 1);
    assert_eq!(numbers(&page.unwrap()), (1, 400_000, 400_000, 500_000, true));
}

#[test]
fn hostile_files_are_refused_and_nothing_outside_is_read() {
    let of = Fixture::new();
    let secret = of.folder.path().join("secret");
    fs::write(&secret, "{\"canary\":1}").unwrap();
    let id = of.saved(b"one\ntwo\n");
    let replaced = |name: &str, by: &dyn Fn(&Path)| {
        let path = of.path(&id).join(name);
        fs::remove_file(&path).unwrap();
        by(&path);
    };
    replaced(INDEX, &|path| symlink(&secret, path).unwrap());
    assert_eq!(of.runs.lines(&id, None, None).unwrap().lines, ["one", "two"]);
    for index in [
        "no JSON",
        r#"{"lines":[{"line":0,"byteOffset":0,"byteLength":1}],"totalLines":2,"totalBytes":8}"#,
        r#"{"lines":[{"line":2,"byteOffset":18446744073709551615,"byteLength":1}],"totalLines":9,"totalBytes":1}"#,
        r#"{"lines":[{"line":18446744073709551615,"byteOffset":3,"byteLength":1}],"totalLines":1,"totalBytes":1}"#,
    ] {
        replaced(INDEX, &|path| fs::write(path, index).unwrap());
        let _ = of.runs.lines(&id, Some(i64::MAX), None).unwrap();
        assert_eq!(of.runs.lines(&id, None, None).unwrap().lines, ["one", "two"], "{index}");
    }
    replaced(LOG, &|path| symlink(&secret, path).unwrap());
    let error = of.runs.lines(&id, None, None).unwrap_err();
    assert!(matches!(error, BuildRunsError::Damaged { file: LOG, .. }), "{error}");
    assert!(of.runs.raw(&id, 0, None).is_err());
    replaced(META, &|path| symlink(&secret, path).unwrap());
    assert!(of.runs.meta(&id).is_err());
    replaced(META, &|path| fs::write(path, "[]").unwrap());
    assert!(of.runs.meta(&id).is_err());
    replaced(META, &|path| fs::File::create(path).unwrap().set_len(MOST_DOCUMENT + 1).unwrap());
    assert!(of.runs.meta(&id).unwrap_err().to_string().contains("bytes"));
    let linked = Uuid::new_v4().to_string();
    symlink(of.path(&of.saved(b"x")), of.path(&linked)).unwrap();
    assert_eq!(of.runs.lines(&linked, None, None).unwrap_err().code(), Some("RUN_NOT_FOUND"));
}

#[test]
fn old_runs_go_and_with_them_orphans() {
    let of = Fixture::new();
    let meta = |id: &str, change: &dyn Fn(&mut BuildMeta)| {
        let path = of.path(id).join(META);
        let mut meta: BuildMeta = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut meta);
        files::write_private(&path, &serde_json::to_vec(&meta).unwrap()).unwrap();
    };
    let orphaned = |started: &str| {
        let id = of.saved(b"x");
        meta(&id, &|meta| (meta.completed_at, meta.started_at) = (None, started.to_owned()));
        id
    };
    let old = |hours: u64| clock::file_time(SystemTime::now() - Duration::from_hours(hours));
    let (young, done) = (of.saved(b"x"), of.saved(b"x"));
    meta(&done, &|meta| meta.completed_at = Some(old(14 * 24 + 1)));
    let (orphan, young_orphan) = (orphaned(&old(14 * 24 + 1)), orphaned(&old(14 * 24 - 1)));
    assert_eq!(of.runs.meta(&orphan).unwrap().1, BuildRunState::Orphaned);
    let long = of.runs.start("t", Path::new("/w"), &[]).unwrap();
    let long_id = long.id().to_string();
    meta(&long_id, &|meta| meta.started_at = old(15 * 24));
    let broken = of.saved(b"x");
    fs::write(of.path(&broken).join(META), "no JSON").unwrap();
    fs::create_dir(of.path("no-id")).unwrap();
    assert_eq!(of.runs.sweep(SystemTime::now()).unwrap(), 2);
    for (id, is_kept) in [(&young, true), (&done, false), (&orphan, false), (&young_orphan, true), (&broken, true)] {
        assert_eq!(of.path(id).exists(), is_kept);
    }
    assert!(of.path(&long_id).exists(), "its process is alive");
    assert_eq!(of.runs.sweep(SystemTime::now() + Duration::from_hours(15 * 24)).unwrap(), 3);
    assert!(of.path("no-id").exists() && of.path(&long_id).exists() && !of.path(&broken).exists());
    drop(long);
    assert_eq!(Fixture::new().runs.sweep(SystemTime::now()).unwrap(), 0, "where there is no folder");
}
