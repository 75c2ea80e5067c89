//! Tests of removed guards on small changes.

use super::super::super::synthetic_change::SyntheticChange;

/// The rules of this folder that fire on a change of one file, with the lines of the old side.
fn told(path: &str, old: &str, new: &str) -> Vec<String> {
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
fn a_guard_before_a_use_that_stays_is_told() {
    let old = "package a\n\nfunc f(b *T) int {\n\tif b == nil {\n\t\treturn 0\n\t}\n\tc()\n\treturn b.d\n}\n";
    let new = "package a\n\nfunc f(b *T) int {\n\tc()\n\treturn b.d\n}\n";
    assert_eq!(told("a.go", old, new), ["null-check-removed 4"]);
}

#[test]
fn a_guard_that_moved_or_is_not_needed_any_more_is_not_told() {
    let old = "package a\n\nfunc f(b *T) int {\n\tif b == nil {\n\t\treturn 0\n\t}\n\tc()\n\treturn b.d\n}\n";
    let elsewhere = "package a\n\nfunc f(b *T) int {\n\tc()\n\treturn b.d\n}\n\nfunc g(b *T) int {\n\tif b == nil {\n\t\treturn 1\n\t}\n\treturn f(b)\n}\n";
    assert_eq!(told("a.go", old, elsewhere), [""; 0]);
    let value = "package a\n\nfunc f(b T) int {\n\tc()\n\treturn b.d\n}\n";
    assert_eq!(told("a.go", old, value), [""; 0]);
    let other = "package a\n\nfunc f(b *T) int {\n\tc()\n\treturn 4\n}\n";
    assert_eq!(told("a.go", old, other), [""; 0]);
    let spelled = "package a\n\nfunc f(b *T) int {\n\tif nil != b {\n\t\tc()\n\t\treturn b.d\n\t}\n\treturn 0\n}\n";
    assert_eq!(told("a.go", old, spelled), [""; 0]);
}

#[test]
fn a_part_of_a_condition_is_a_guard_too() {
    let old = "function f(a) {\n  g(1);\n  if (a.b && a.b.c && a.b.c.d) {\n    return a.b.c.d();\n  }\n}\n";
    let new = "function f(a) {\n  g(1);\n  if (a.b && a.b.c.d) {\n    return a.b.c.d();\n  }\n}\n";
    assert_eq!(told("a.ts", old, new), ["null-check-removed 3"]);
}

#[test]
fn safe_navigation_that_is_gone_is_told() {
    let old = "function f(a) {\n  g(1);\n  return h(a.b?.c, 2);\n}\n";
    let new = "function f(a) {\n  g(1);\n  return h(a.b.c, 2);\n}\n";
    assert_eq!(told("a.ts", old, new), ["null-check-removed 3"]);
}

#[test]
fn an_error_branch_that_goes_on_is_told() {
    let old =
        "package a\n\nfunc f() {\n\tv, err := g()\n\tif err != nil {\n\t\tlog(err)\n\t\treturn\n\t}\n\tuse(v)\n}\n";
    let new = "package a\n\nfunc f() {\n\tv, err := g()\n\tif err != nil {\n\t\tlog(err)\n\t}\n\tuse(v)\n}\n";
    assert_eq!(told("a.go", old, new), ["error-path-goes-on 7"]);
}

#[test]
fn a_file_that_is_no_longer_closed_is_told() {
    let old = "package a\n\nfunc f() error {\n\tfile, err := os.Open(\"c\")\n\tif err != nil {\n\t\treturn err\n\t}\n\tdefer file.Close()\n\treturn d(file.Name())\n}\n";
    let new = "package a\n\nfunc f() error {\n\tfile, err := os.Open(\"c\")\n\tif err != nil {\n\t\treturn err\n\t}\n\treturn d(file.Name())\n}\n";
    assert_eq!(told("a.go", old, new), ["release-removed 8"]);
}

#[test]
fn a_decorator_and_a_check_of_permissions_are_told() {
    let old = "@login_required\ndef delete_all(request):\n    return wipe(request)\n";
    let new = "def delete_all(request):\n    return wipe(request)\n";
    assert_eq!(told("a.py", old, new), ["authorisation-removed 1"]);
    let old = "def f(request):\n    if not request.user.has_perm('x'):\n        raise PermissionDenied()\n    wipe(request)\n    log()\n";
    let new = "def f(request):\n    wipe(request)\n    log()\n";
    assert_eq!(told("a.py", old, new), ["authorisation-removed 2"]);
}

#[test]
fn what_was_named_asked_about_and_used_is_told_when_it_is_used_at_once() {
    let old = "class A {\n  void f() {\n    B b = c.get(d);\n    if (b != null) {\n      log(b.e());\n    }\n    g();\n  }\n}\n";
    let new = "class A {\n  void f() {\n    log(c.get(d).e());\n    g();\n  }\n}\n";
    assert_eq!(told("A.java", old, new), ["null-check-removed 4"]);
    let old = "package a\n\nfunc f() {\n\tif b := c(); b != nil {\n\t\td = append(d, b)\n\t}\n\tg()\n}\n";
    let new = "package a\n\nfunc f() {\n\td = append(d, c())\n\tg()\n}\n";
    assert_eq!(told("a.go", old, new), ["null-check-removed 4"]);
}

#[test]
fn a_type_that_null_has_too_is_no_answer() {
    let old = "function f(a) {\n  g(1);\n  return a && typeof a === 'object' ? a.b : 1;\n}\n";
    let new = "function f(a) {\n  g(1);\n  return typeof a === 'object' ? a.b : 1;\n}\n";
    assert_eq!(told("a.ts", old, new), ["null-check-removed 3"]);
}

#[test]
fn a_failure_that_loses_its_own_way_is_told() {
    let old = "function f() {\n  try {\n    g();\n  } catch (err) {\n    if (err.code === 404) {\n      return null;\n    }\n    log(err);\n    return 500;\n  }\n}\n";
    let new = "function f() {\n  try {\n    g();\n  } catch (err) {\n    log(err);\n    return 500;\n  }\n}\n";
    assert_eq!(told("a.ts", old, new), ["error-handling-removed 5"]);
}
