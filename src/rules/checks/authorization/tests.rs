//! Tests of removed authorization checks on small changes.

use super::super::super::synthetic_change::SyntheticChange;

/// Returns the rules about removed code that fire on a change of one file, with the lines of the old side.
fn removed_lines(path: &str, old: &str, new: &str) -> Vec<String> {
    let report = SyntheticChange::default().was(path, old).now(path, new).review();
    let removed = report.claims.iter().filter(|claim| claim.place.side == crate::domain::place::DiffSide::Old);
    removed
        .map(|claim| {
            let rule = claim.origin.name.trim_start_matches("general/").to_owned();
            format!("{rule} {}", claim.place.lines.map_or(0, crate::domain::place::LineRange::start))
        })
        .collect()
}

#[test]
fn a_decorator_and_a_check_of_permissions_are_reported() {
    let old = "@login_required\ndef delete_all(request):\n    return wipe(request)\n";
    let new = "def delete_all(request):\n    return wipe(request)\n";
    assert_eq!(removed_lines("a.py", old, new), ["authorisation-removed 1"]);
    let old = "def f(request):\n    if not request.user.has_perm('x'):\n        raise PermissionDenied()\n    wipe(request)\n    log()\n";
    let new = "def f(request):\n    wipe(request)\n    log()\n";
    assert_eq!(removed_lines("a.py", old, new), ["authorisation-removed 2"]);
}

#[test]
fn the_user_of_a_request_is_seen_however_it_is_written() {
    for asked in
        ["req.user", "req?.user", "request!.user", "this.req?.user", "req /* of */ . user", "req // of\n    .user"]
    {
        let ends = "  const a = load(req);\n  store(a);\n  return res.send(a);\n}\n";
        let head = "export function handle(req, res) {\n";
        let old = format!("{head}  if (!{asked}) {{\n    return res.status(401).end();\n  }}\n{ends}");
        assert_eq!(removed_lines("a.ts", &old, &format!("{head}{ends}")), ["authorisation-removed 2"], "{asked}");
    }
}

#[test]
fn a_check_that_moved_or_was_replaced_is_not_reported() {
    let old = "def f(request):\n    if not request.user.has_perm('x'):\n        raise PermissionDenied()\n    wipe(request)\n    log()\n";
    let moved = "def g(request):\n    if not request.user.has_perm('x'):\n        raise PermissionDenied()\n    f(request)\n\n\ndef f(request):\n    wipe(request)\n    log()\n";
    assert_eq!(removed_lines("a.py", old, moved), [""; 0]);
    let replaced = "def f(request):\n    require_permission(request, 'x')\n    wipe(request)\n    log()\n";
    assert_eq!(removed_lines("a.py", old, replaced), [""; 0]);
    let rewritten = "def f(request):\n    return enqueue(request.id)\n";
    assert_eq!(removed_lines("a.py", old, rewritten), [""; 0]);
}

#[test]
fn other_checks_that_are_removed_are_not_reported() {
    let old = "package a\n\nfunc f(b *T) int {\n\tif b == nil {\n\t\treturn 0\n\t}\n\tc()\n\treturn b.d\n}\n";
    let new = "package a\n\nfunc f(b *T) int {\n\tc()\n\treturn b.d\n}\n";
    assert_eq!(removed_lines("a.go", old, new), [""; 0]);
}

#[test]
fn a_check_is_missed_among_functions_that_stay() {
    let other = |name: &str| {
        format!(
            "    def {name}(self, request):\n        if not request.user.is_staff:\n            raise PermissionDenied()\n        log()\n        wipe()\n\n"
        )
    };
    let class = |name: &str, body: &str| format!("class {name}:\n{}{body}{}\n", other("f"), other("h"));
    let old = [class("A", &other("g")), class("B", &other("g")), class("C", &other("g"))].concat();
    let bare = "    def g(self, request):\n        log()\n        wipe()\n\n";
    let new = [class("A", &other("g")), class("B", bare), class("C", &other("g"))].concat();
    assert_eq!(removed_lines("a.py", &old, &new), ["authorisation-removed 29"]);
    // Of two of the same name and text, the other one stays. What was first in the class need not be first now.
    let twice = |first: &str, second: &str| class("A", &format!("{first}{second}{}", other("i").repeat(4)));
    let old = twice(&other("g"), &other("g"));
    assert!(old.len() > 1024, "a smaller class is not divided");
    assert_eq!(removed_lines("a.py", &old, &twice(&other("g"), bare)), ["authorisation-removed 15"]);
    assert_eq!(removed_lines("a.py", &old, &twice(bare, &other("g"))), ["authorisation-removed 9"]);
    let new = twice(bare, &other("g")).replacen(":\n", ":\n    LIMIT = 3\n\n", 1);
    assert_eq!(removed_lines("a.py", &old, &new), ["authorisation-removed 9"]);
    let owners = |check: &str| {
        let owner = format!(
            "    @property\n    def owner(self):\n        return self.name\n\n    @owner.setter\n    def owner(self, request):\n{check}        log()\n        wipe()\n\n"
        );
        format!("class A:\n{owner}{}", other("f").repeat(9))
    };
    let check = "        if not request.user.is_staff:\n            raise PermissionDenied()\n";
    let new = owners("").replacen(":\n", ":\n    LIMIT = 3\n\n", 1);
    assert_eq!(removed_lines("a.py", &owners(check), &new), ["authorisation-removed 8"]);
}
