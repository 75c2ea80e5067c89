//! Manifests and their locks, kind by kind.

use super::super::super::synthetic_change::SyntheticChange;

fn told(manifest: &str, was: &str, now: &str, lock: (&str, &str)) -> bool {
    let change =
        SyntheticChange::default().was(manifest, was).now(manifest, now).was(lock.0, lock.1).now(lock.0, lock.1);
    let report = change.review();
    let mut own = report.claims.iter().filter(|claim| claim.origin.name == "impact/manifest-without-lock");
    own.any(|claim| claim.related.len() == 1 && claim.related[0].path.display_name() == lock.0)
}

#[test]
fn npm_compares_what_was_asked_for() {
    let manifest = |version: &str| format!("{{\n  \"dependencies\": {{\n    \"left\": \"{version}\"\n  }}\n}}\n");
    let lock = |version: &str| {
        format!("{{\"lockfileVersion\": 3, \"packages\": {{\"\": {{\"dependencies\": {{\"left\": \"{version}\"}}}}}}}}")
    };
    let (was, now) = (manifest("^1.0.0"), manifest("^2.0.0"));
    assert!(told("package.json", &was, &now, ("package-lock.json", &lock("^1.0.0"))));
    assert!(!told("package.json", &was, &now, ("package-lock.json", &lock("^2.0.0"))));
    assert!(!told("package.json", &was, &was.replace("  ", "\t"), ("package-lock.json", &lock("^0.1.0"))));
}

#[test]
fn pnpm_is_asked_for_the_package_of_the_workspace() {
    let manifest = |more: &str| format!("{{\n  \"devDependencies\": {{\n    \"a\": \"1.0.0\"{more}\n  }}\n}}\n");
    let (was, now) = (manifest(""), manifest(",\n    \"@s/b\": \"^2.1.0\""));
    let lock = |own: &str| {
        format!(
            "lockfileVersion: '9.0'\n\nimporters:\n\n  .:\n    dependencies:\n      '@s/b':\n        specifier: ^2.1.0\n        \
             version: 2.1.0\n\n  packages/x:\n    devDependencies:\n      a:\n        specifier: 1.0.0\n        version: 1.0.0\n{own}\n\
             packages:\n\n  '@s/b@2.1.0':\n"
        )
    };
    let own = "      '@s/b':\n        specifier: ^2.1.0\n        version: 2.1.0\n";
    assert!(told("packages/x/package.json", &was, &now, ("pnpm-lock.yaml", &lock(""))));
    assert!(!told("packages/x/package.json", &was, &now, ("pnpm-lock.yaml", &lock(own))));
    assert!(!told("examples/y/package.json", &was, &now, ("pnpm-lock.yaml", &lock(""))), "not of the workspace");
    let overridden = format!("overrides:\n  '@s/b': 1.0.0\n\n{}", lock(""));
    assert!(!told("packages/x/package.json", &was, &now, ("pnpm-lock.yaml", &overridden)));
}

#[test]
fn yarn_of_both_kinds_is_read() {
    let manifest = |version: &str| format!("{{\n  \"dependencies\": {{\n    \"a\": \"{version}\"\n  }}\n}}\n");
    let (was, now) = (manifest("^1.0.0"), manifest("^2.0.0"));
    assert!(told("package.json", &was, &now, ("yarn.lock", "# yarn\n\na@^1.0.0:\n  version \"1.0.0\"\n")));
    assert!(!told("package.json", &was, &now, ("yarn.lock", "a@^1.0.0, a@^2.0.0:\n  version \"2.0.0\"\n")));
    let berry = "__metadata:\n  version: 8\n\n\"a@npm:^2.0.0\":\n  version: 2.0.0\n";
    assert!(!told("package.json", &was, &now, ("yarn.lock", berry)));
    assert!(!told("package.json", &was, &manifest("workspace:*"), ("yarn.lock", berry)));
}

#[test]
fn composer_bundler_and_pipenv_are_asked_for_names() {
    let json = |names: &str| format!("{{\n  \"require\": {{\n    \"php\": \"8\"{names}\n  }}\n}}\n");
    let lock = "{\n  \"packages\": [{\"name\": \"a/b\"}]\n}\n";
    assert!(!told("composer.json", &json(""), &json(",\n    \"a/b\": \"1\""), ("composer.lock", lock)));
    assert!(told("composer.json", &json(""), &json(",\n    \"a/c\": \"1\""), ("composer.lock", lock)));
    let gems = "GEM\n  specs:\n    rack (3.0)\n";
    assert!(!told("Gemfile", "", "gem \"rack\"\n", ("Gemfile.lock", gems)));
    assert!(told("Gemfile", "source \"x\"\n", "source \"x\"\ngem 'puma', '6'\n", ("Gemfile.lock", gems)));
    let pip = "{\"default\": {\"flask-login\": {}}, \"develop\": {}}";
    assert!(!told("Pipfile", "[packages]\n", "[packages]\nFlask_Login = \"*\"\n", ("Pipfile.lock", pip)));
    assert!(told("Pipfile", "[packages]\n", "[packages]\nrequests = \"*\"\n", ("Pipfile.lock", pip)));
}

#[test]
fn a_manifest_that_is_none_says_nothing() {
    assert!(!told("Cargo.toml", "[", "]", ("Cargo.lock", "x")));
    assert!(!told("package.json", "{", "{}", ("package-lock.json", "{}")));
}
