//! Random histories: whatever was edited, moved and deleted, counts and hunks are git's.

use std::collections::BTreeMap;

use review_runner::domain::change::FileStatus;

use crate::support::TestRepo;
use crate::support::change::{change_of, counted, diff_text, numstat};
use review_runner::git::{CollectOptions, from_patch};
use review_runner::sys::cancel::Cancel;

/// A small generator of numbers that is the same on every machine (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("a small number")
    }
}

type Files = BTreeMap<String, Vec<String>>;

fn line(dice: &mut Dice) -> String {
    // Few different lines, so that there are many ways to line two files up.
    ["{", "}", "    return x;", "if (a) {", "", "    b();", "// note", "else {"][dice.below(8)].to_owned()
}

fn mutate(dice: &mut Dice, files: &mut Files) {
    let names: Vec<String> = files.keys().cloned().collect();
    for name in names {
        match dice.below(10) {
            0 => {
                files.remove(&name);
            }
            1 => {
                let lines = files.remove(&name).unwrap_or_default();
                files.insert(format!("moved/{}", name.replace('/', "-")), lines);
            }
            2..=6 => {
                let lines = files.get_mut(&name).expect("the file");
                for _ in 0..=dice.below(6) {
                    let at = dice.below(lines.len() + 1);
                    match dice.below(3) {
                        0 => lines.insert(at, line(dice)),
                        1 if at < lines.len() => {
                            lines.remove(at);
                        }
                        _ if at < lines.len() => lines[at] = format!("edited {}", dice.below(100)),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    for n in 0..dice.below(4) {
        let lines = (0..dice.below(40)).map(|_| line(dice)).collect();
        files.insert(format!("new/{}-{n}", dice.below(1000)), lines);
    }
}

fn write(repo: &TestRepo, dice: &mut Dice, files: &Files) {
    for entry in std::fs::read_dir(repo.root()).unwrap().map(Result::unwrap) {
        if entry.file_name() != ".git" {
            std::fs::remove_dir_all(entry.path()).unwrap();
        }
    }
    for (name, lines) in files {
        let end = if dice.below(8) == 0 { "" } else { "\n" };
        repo.write(name, lines.join("\n") + end);
    }
}

#[test]
fn counts_and_hunks_are_gits_in_random_histories() {
    for seed in 1..=12u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let repo = TestRepo::new();
        let mut files: Files = (0..30)
            .map(|n| {
                let lines = (0..dice.below(120)).map(|_| line(&mut dice)).collect();
                (format!("dir{}/file{n}", n % 4), lines)
            })
            .collect();
        write(&repo, &mut dice, &files);
        repo.commit("first");
        repo.branch("topic");
        for step in 0..3 {
            mutate(&mut dice, &mut files);
            write(&repo, &mut dice, &files);
            repo.commit(&format!("step {step}"));
        }
        let change = change_of(&repo);
        // Without renames every file has one counterpart: all must agree.
        let mut theirs: BTreeMap<_, _> = BTreeMap::new();
        for (path, _, counts) in numstat(&repo, &["--no-renames", "main...HEAD"]) {
            theirs.insert(path, counts);
        }
        let renamed: Vec<_> = change.files.iter().filter(|file| file.status == FileStatus::Renamed).collect();
        for (path, old, counts) in counted(&change) {
            if old.is_none() {
                assert_eq!(theirs.get(&path), Some(&counts), "seed {seed} {}", String::from_utf8_lossy(&path));
            }
        }
        for file in &renamed {
            let old = file.old_path.as_ref().unwrap();
            let pair = format!("main:{old}");
            let args = [pair.clone(), format!("HEAD:{}", file.path)];
            let text = numstat(&repo, &[&args[0], &args[1]]);
            let expected = text.first().map_or((0, 0), |(_, _, counts)| counts.unwrap());
            assert_eq!((file.additions, file.deletions), expected, "seed {seed} {} from {old}", file.path);
        }
        let text = diff_text(&repo, &["--no-renames", "main...HEAD"]);
        let patch = from_patch("-", &text, &CollectOptions::default(), &Cancel::never()).unwrap();
        for file in change.files.iter().filter(|file| file.status != FileStatus::Renamed) {
            let read = patch.change.files.iter().find(|read| read.path == file.path).unwrap();
            assert_eq!(read.hunks, file.hunks, "seed {seed} {}", file.path);
            assert_eq!(read.patch, file.patch, "seed {seed} {}", file.path);
        }
    }
}
