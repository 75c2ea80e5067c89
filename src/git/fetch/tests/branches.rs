//! All branches of a repository, in a mirror.

use super::*;

fn job(world: &FetchFixture) -> BranchFetch {
    let base = RepositoryBase::parse(&format!("file://{}", world.at("server").display())).unwrap().unwrap();
    BranchFetch { base, mirrors: world.at("mirrors"), authorization: None, environment: environment(&world.at("home")) }
}

fn branches(mirror: &Path) -> Vec<String> {
    let repo = Repo::open(mirror).unwrap();
    crate::git::branches_of(&repo, None, &Cancel::never()).unwrap()
}

#[test]
fn a_mirror_has_the_branches_that_the_repository_has() {
    let world = FetchFixture::new();
    let job = job(&world);
    let fetch = || fetch_branches(&job, "o/r", |_| false, &Cancel::never());
    world.commit("one");
    world.git("work", &["push", "-q", "server", "HEAD:main", "HEAD:feature/a", "HEAD:b"]);
    let (mirror, is_fetched) = fetch().unwrap();
    assert!(is_fetched && mirror.starts_with(world.at("mirrors")) && mirror.ends_with("o/r.git"), "{mirror:?}");
    assert_eq!(branches(&mirror), ["b", "feature/a", "main"]);
    // A branch that is gone makes room for one of a name below it, and one is moved back.
    let two = world.commit("two");
    world.git("work", &["push", "-q", "server", "HEAD:main", ":b", ":feature/a"]);
    world.git("work", &["push", "-q", "server", "HEAD:b/c", "HEAD:feature"]);
    let needs = |repo: &Repo| repo.raw().find_commit(raw_id(two.0)).is_ok();
    assert!(fetch_branches(&job, "o/r", needs, &Cancel::never()).unwrap().1);
    assert!(!fetch_branches(&job, "o/r", needs, &Cancel::never()).unwrap().1, "nothing is missing");
    assert_eq!(branches(&mirror), ["b/c", "feature", "main"]);
    // A damaged mirror is only a copy.
    std::fs::write(mirror.join("HEAD"), "nonsense").unwrap();
    std::fs::write(mirror.join("config"), "[core\n").unwrap();
    assert_eq!(branches(&fetch().unwrap().0), ["b/c", "feature", "main"]);
}

#[test]
fn a_repository_that_is_not_there_is_refused_and_nothing_of_its_settings_is_run() {
    let world = FetchFixture::new();
    let job = job(&world);
    let error = fetch_branches(&job, "o/none", |_| false, &Cancel::never()).unwrap_err();
    assert!(matches!(error, FetchError::Branches { is_refused: true, .. }), "{error:?}");
    world.commit("one");
    world.git("work", &["push", "-q", "server", "HEAD:main"]);
    let canary = world.canary();
    std::fs::create_dir_all(world.at("hooks")).unwrap();
    std::fs::copy(world.at("canary"), world.at("hooks/reference-transaction")).unwrap();
    let evil = format!("[core]\n\thooksPath = {}\n\tfsmonitor = {}\n", world.at("hooks").display(), canary.display());
    std::fs::write(world.at("home/.gitconfig"), &evil).unwrap();
    let (mirror, _) = fetch_branches(&job, "o/r", |_| false, &Cancel::never()).unwrap();
    std::fs::write(mirror.join("config"), format!("[core]\n\tbare = true\n{evil}")).unwrap();
    std::fs::create_dir_all(mirror.join("hooks")).unwrap();
    std::fs::copy(world.at("canary"), mirror.join("hooks/reference-transaction")).unwrap();
    fetch_branches(&job, "o/r", |_| false, &Cancel::never()).unwrap();
    assert!(!world.at("sung").exists(), "a program was run that a setting names");
    let stopped =
        fetch_branches(&job, "o/r", |_| false, &Cancel::stopped(crate::sys::cancel::CancelReason::Interrupted));
    assert!(stopped.is_err());
}

#[test]
fn many_packs_are_joined_and_nothing_of_them_is_lost() {
    let world = FetchFixture::new();
    let job = job(&world);
    let fetch = || fetch_branches(&job, "o/r", |_| false, &Cancel::never()).unwrap().0;
    world.commit("one");
    world.git("work", &["push", "-q", "server", "HEAD:main"]);
    let mirror = fetch();
    let repo = git2::Repository::open(&mirror).unwrap();
    // No reference leads to these.
    let blobs: Vec<git2::Oid> = (0..60).map(|n| repo.blob(format!("text {n}").as_bytes()).unwrap()).collect();
    for blob in &blobs {
        let mut pack = repo.packbuilder().unwrap();
        pack.insert_object(*blob, None).unwrap();
        pack.write(&mirror.join("objects/pack"), 0).unwrap();
    }
    let packs = || {
        let entries = std::fs::read_dir(mirror.join("objects/pack")).unwrap().flatten();
        entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "pack")).count()
    };
    assert!(packs() >= 60, "{}", packs());
    let (reader, of_reader) = (git2::Repository::open(&mirror).unwrap(), &blobs[7]);
    assert!(reader.find_blob(*of_reader).is_ok());
    fetch();
    assert!(packs() < 5, "{}", packs());
    for repo in [reader, git2::Repository::open(&mirror).unwrap()] {
        for blob in &blobs {
            assert!(repo.find_blob(*blob).unwrap().content().starts_with(b"text "), "{blob}");
        }
    }
}
