//! Into which repository commits are brought, and how many.

use super::*;
use crate::domain::id::ObjectId;

#[test]
fn a_whole_clone_gets_the_objects_and_nothing_else() {
    for bare in [false, true] {
        let world = FetchFixture::new();
        let (pull, met) = world.pull(6, 2);
        let kind: &[&str] = if bare { &["--bare"] } else { &[] };
        world.git("", &[&["clone", "-q"], kind, &[&world.address(), "clone"]].concat());
        let newer = world.commit("newer");
        world.git("work", &["push", "-q", "server", "main"]);
        let git = if bare { "clone" } else { "clone/.git" };
        let before = world.kept(git);
        let fetched = run(&world.here("clone"), &pull).unwrap();
        assert_eq!((fetched.base, fetched.head, merge_base(&fetched)), (newer, pull.head, met));
        assert_eq!(fetched.directory, world.at("clone/"));
        assert_eq!(world.kept(git), before, "no reference, setting or file is written");
        assert!(!world.at(git).join("shallow").exists());
        assert_eq!(run(&world.here("clone"), &pull).unwrap(), fetched, "and once more");
    }
}

#[test]
fn a_linked_worktree_is_a_place_too() {
    let world = FetchFixture::new();
    let (pull, met) = world.pull(4, 1);
    world.git("", &["clone", "-q", &world.address(), "clone"]);
    world.git("clone", &["worktree", "add", "-q", "../linked", "-b", "other"]);
    let before = world.kept("clone/.git");
    let fetched = run(&world.here("linked"), &pull).unwrap();
    assert_eq!(merge_base(&fetched), met);
    assert_eq!(fetched.directory, world.at("linked/"));
    assert_eq!(world.kept("clone/.git"), before);
}

#[test]
fn files_that_a_setting_puts_elsewhere_lead_to_no_other_repository() {
    let world = FetchFixture::new();
    let (pull, _) = world.pull(4, 1);
    world.git("", &["clone", "-q", &world.address(), "other"]);
    std::fs::create_dir(world.at("plain")).unwrap();
    world.git("", &["clone", "-q", &world.address(), "clone"]);
    for elsewhere in ["plain", "other"] {
        world.git("clone", &["config", "core.worktree", world.at(elsewhere).to_str().unwrap()]);
        let before = world.kept("other/.git");
        let job = world.job(RepositoryPlace::Here { folder: world.at("clone/.git/"), ssh: None });
        let refused = run(&job, &pull).unwrap_err().to_string();
        assert!(refused.contains("core.worktree"), "{elsewhere}: {refused}");
        assert_eq!(world.kept("other/.git"), before, "{elsewhere}");
    }
}

#[test]
fn a_cut_history_is_deepened_until_both_meet() {
    // What is needed: the first step, the second one, all of it.
    for (length, behind, whole) in [(80, 5, false), (400, 120, false), (1300, 1250, true)] {
        let world = FetchFixture::new();
        let (pull, met) = world.pull(length, behind);
        world.git("", &["clone", "-q", "--depth=1", &world.address(), "clone"]);
        let before = world.kept("clone/.git");
        let fetched = run(&world.here("clone"), &pull).unwrap();
        assert_eq!(merge_base(&fetched), met, "{length}");
        assert_eq!(world.kept("clone/.git"), before);
        assert_eq!(world.at("clone/.git/shallow").exists(), !whole, "{length}");
        world.git("clone", &["fsck", "--connectivity-only"]);
        world.git("clone", &["log", "--oneline", &pull.head.to_string()]);
    }
}

#[test]
fn what_a_cut_clone_has_seen_is_not_hidden_from_it() {
    let world = FetchFixture::new();
    let (pull, met) = world.pull(300, 3);
    world.git("", &["clone", "-q", "--depth=120", &world.address(), "clone"]);
    let count = || world.git("clone", &["rev-list", "--count", "HEAD"]).parse::<u32>().unwrap();
    assert_eq!(count(), 120);
    let fetched = run(&world.here("clone"), &pull).unwrap();
    assert_eq!(merge_base(&fetched), met);
    assert_eq!(count(), 120);
    world.git("clone", &["fsck", "--connectivity-only"]);
}

#[test]
fn a_way_that_is_hidden_does_not_lead_to_a_wrong_merge_base() {
    let world = FetchFixture::new();
    world.commit("x");
    world.git("work", &["branch", "side"]);
    let met = world.commit("y");
    world.git("work", &["branch", "topic"]);
    for n in 0..70 {
        world.commit(&format!("main {n}"));
    }
    world.git("work", &["checkout", "-q", "side"]);
    world.commit("side");
    world.git("work", &["checkout", "-q", "main"]);
    world.git("work", &["merge", "-q", "--no-edit", "side"]);
    let base = world.git("work", &["rev-parse", "HEAD"]).parse().map(CommitId).unwrap();
    world.git("work", &["checkout", "-q", "topic"]);
    let head = world.commit("topic");
    world.git("work", &["push", "-q", "server", "main", "topic:refs/pull/7/head"]);
    // At a depth of 50 the two meet in x, through the side.
    let fetched = run(&world.job(RepositoryPlace::Mirror), &pull(base, head)).unwrap();
    assert_eq!(merge_base(&fetched), met);
}

#[test]
fn outside_a_repository_a_mirror_is_made_and_used_again() {
    let world = FetchFixture::new();
    let (mut pull, met) = world.pull(300, 3);
    let fetched = run(&world.job(RepositoryPlace::Mirror), &pull).unwrap();
    let mirror = mirror_path(&world.at("cache/mirrors"), "", &pull.id.repo);
    assert_eq!((&fetched.directory, merge_base(&fetched)), (&mirror, met));
    let about = std::fs::metadata(&mirror).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o700);
    assert!(mirror.join("shallow").exists(), "its history is cut");
    let count = || world.git("", &["--git-dir", mirror.to_str().unwrap(), "count-objects", "-v"]);
    let before = count();
    assert_eq!(run(&world.job(RepositoryPlace::Mirror), &pull).unwrap(), fetched);
    assert_eq!(count(), before, "nothing was new");

    world.git("work", &["checkout", "-q", "topic"]);
    pull.head = world.commit("topic 3");
    world.git("work", &["push", "-q", "server", "topic:refs/pull/7/head"]);
    let again = run(&world.job(RepositoryPlace::Mirror), &pull).unwrap();
    assert_eq!((again.head, merge_base(&again)), (pull.head, met));
    let kept = world.git("", &["--git-dir", mirror.to_str().unwrap(), "for-each-ref", "--format=%(refname)"]);
    assert_eq!(kept, "refs/pull/7/base\nrefs/pull/7/head");
}

#[test]
fn a_broken_mirror_is_made_anew() {
    let world = FetchFixture::new();
    let (pull, met) = world.pull(4, 1);
    let mirror = mirror_path(&world.at("cache/mirrors"), "", &pull.id.repo);
    std::fs::create_dir_all(&mirror).unwrap();
    std::fs::write(mirror.join("rubbish"), "x").unwrap();
    let fetched = run(&world.job(RepositoryPlace::Mirror), &pull).unwrap();
    assert_eq!(merge_base(&fetched), met);
    let canary = world.canary();
    std::fs::write(mirror.join("config"), format!("[core]\n\tfsmonitor = {}\n\tbare = true\n", canary.display()))
        .unwrap();
    std::fs::remove_dir_all(mirror.join("objects")).unwrap();
    let fetched = run(&world.job(RepositoryPlace::Mirror), &pull).unwrap();
    assert_eq!(merge_base(&fetched), met);
    assert!(!std::fs::read_to_string(mirror.join("config")).unwrap().contains("canary"));
}

#[test]
fn a_head_that_was_replaced_is_told() {
    let world = FetchFixture::new();
    let (mut pull, _) = world.pull(4, 1);
    let real = pull.head;
    pull.head = CommitId("1111111111111111111111111111111111111111".parse().unwrap());
    world.git("", &["clone", "-q", &world.address(), "clone"]);
    for job in [world.here("clone"), world.job(RepositoryPlace::Mirror)] {
        match run(&job, &pull) {
            Err(FetchError::HeadMoved { now, .. }) => assert_eq!(now, real),
            other => panic!("{other:?}"),
        }
    }
    pull.id.number = PullNumber::new(8).unwrap();
    let fault = run(&world.here("clone"), &pull).unwrap_err();
    assert!(matches!(fault, FetchError::NoCommit { what: "head", .. }), "{fault}");
}

#[test]
fn a_force_push_brings_the_new_head() {
    let world = FetchFixture::new();
    let (mut pull, met) = world.pull(4, 1);
    run(&world.job(RepositoryPlace::Mirror), &pull).unwrap();
    world.git("work", &["checkout", "-q", "-B", "topic", &met.to_string()]);
    pull.head = world.commit("another");
    world.git("work", &["push", "-q", "-f", "server", "topic:refs/pull/7/head"]);
    let fetched = run(&world.job(RepositoryPlace::Mirror), &pull).unwrap();
    assert_eq!((fetched.head, merge_base(&fetched)), (pull.head, met));
}

#[test]
fn a_base_branch_that_is_gone_is_said() {
    let world = FetchFixture::new();
    let (mut pull, met) = world.pull(4, 1);
    pull.base_ref = "release".to_owned();
    world.git("", &["clone", "-q", &world.address(), "clone"]);
    let fetched = run(&world.here("clone"), &pull).unwrap();
    assert_eq!((fetched.base, merge_base(&fetched), fetched.notices.len()), (pull.base, met, 1));
    for name in ["--upload-pack=x", "a b", "x:refs/heads/y", "*", "../x"] {
        pull.base_ref = name.to_owned();
        assert_eq!(run(&world.here("clone"), &pull).unwrap().base, pull.base, "{name}");
    }
}

#[test]
fn what_was_merged_is_compared_with_what_the_forge_remembers() {
    let world = FetchFixture::new();
    let (mut pull, met) = world.pull(4, 1);
    world.git("work", &["merge", "-q", "--no-edit", "topic"]);
    world.git("work", &["push", "-q", "server", "main"]);
    world.git("", &["clone", "-q", &world.address(), "clone"]);
    pull.state = PullState::Merged;
    let fetched = run(&world.here("clone"), &pull).unwrap();
    assert_eq!((fetched.base, merge_base(&fetched)), (pull.base, met));
}

#[test]
fn two_commits_of_a_repository_are_brought_where_they_lack() {
    let world = FetchFixture::new();
    let (pull, met) = world.pull(60, 55);
    world.git("", &["clone", "-q", "--depth=1", &world.address(), "clone"]);
    let bring = |place: FetchJob, base: &FetchBase| {
        let wanted = WantedCommits::commits(&pull.id.repo, base, pull.head);
        steps::fetch(&place, &wanted, Transport::File, &Cancel::after(Duration::from_mins(1)))
    };
    for base in [FetchBase::Commit(pull.base), FetchBase::Branch("main".to_owned())] {
        for job in [world.here("clone"), world.job(RepositoryPlace::Mirror)] {
            let fetched = bring(job, &base).unwrap();
            assert_eq!((fetched.base, fetched.head, merge_base(&fetched)), (pull.base, pull.head, met), "{base:?}");
        }
    }
    let fault = bring(world.here("clone"), &FetchBase::Branch("gone".to_owned())).unwrap_err();
    assert!(matches!(fault, FetchError::NoBranch { .. }) && fault.to_string().contains("refs/heads/gone"), "{fault}");
    let fault =
        bring(world.job(RepositoryPlace::Mirror), &FetchBase::Commit(CommitId(ObjectId::new([1; 20])))).unwrap_err();
    assert!(matches!(fault, FetchError::NoCommit { what: "base", .. }), "{fault}");
    let odd = FetchBase::Branch("a..b *".to_owned());
    let job = FetchJob { address: "https://forge.invalid/o/r.git".to_owned(), ..world.here("clone") };
    let fault = fetch_commits(&job, &pull.id.repo, &odd, pull.head, &Cancel::never()).unwrap_err();
    assert!(matches!(fault, FetchError::NoBranch { .. }), "{fault}");
}
