//! Precedence, lists, hostile repositories, and the messages people read.

mod secrets;

use std::time::Duration;

use super::super::choices::Colour;
use super::super::choices::ModelChoice;
use super::super::choices::Verify;
use super::super::settings::ProviderSettings;
use super::*;
use crate::domain::finding::{Confidence, Severity};
use crate::domain::guideline::GuidelineKind;
use crate::domain::path::RepoPath;
use proptest::prelude::*;

fn document(name: &str, text: &str) -> SettingsDocument {
    SettingsDocument { name: name.to_owned(), text: text.to_owned(), folder: None }
}

fn user(text: &str) -> SettingsSources {
    SettingsSources { user: Some(document("config.toml", text)), ..SettingsSources::default() }
}

fn repository(text: &str) -> SettingsSources {
    SettingsSources { repository: Some(document(".review.toml", text)), ..SettingsSources::default() }
}

fn environment(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn told(sources: &SettingsSources) -> String {
    resolve(sources).unwrap_err().to_string()
}

#[test]
fn defaults_say_everything_once() {
    let resolved = resolve(&SettingsSources::default()).unwrap();
    let settings = &resolved.settings;
    assert_eq!((settings.timeout, settings.keep_runs), (Duration::from_mins(20), Duration::from_hours(30 * 24)));
    assert_eq!((settings.fail_on, settings.request_changes_on, &settings.model), (None, None, &ModelChoice::Auto));
    assert_eq!((settings.verify, &settings.verify_model, settings.min_confidence), (Verify::Auto, &None, None));
    assert!(settings.min_severity.is_none() && settings.instructions.is_none() && settings.providers.is_empty());
    assert_eq!((settings.max_turns, settings.max_tokens, settings.max_commits), (40, 2_000_000, 200));
    assert!(settings.include.is_empty() && settings.exclude.is_empty() && settings.rules_off.is_empty());
    let names: Vec<&str> = resolved.origins.iter().map(|(name, _, _)| *name).collect();
    let with_default = KEYS.iter().filter(|key| key.provider().is_none());
    assert_eq!(names, with_default.map(|key| key.name).collect::<Vec<_>>());
    assert!(resolved.origins.iter().all(|(_, _, origin)| *origin == SettingOrigin::BuiltIn));
}

#[test]
fn a_later_layer_wins() {
    let mut sources = SettingsSources::default();
    let floor = |sources: &SettingsSources| {
        let resolved = resolve(sources).unwrap();
        let origin = resolved.origins.iter().find(|(name, _, _)| *name == "min_severity").unwrap().2.to_string();
        (resolved.settings.min_severity.map_or("none", Severity::word), origin)
    };
    assert_eq!(floor(&sources), ("none", "default".to_owned()));
    sources.user = Some(document("config.toml", "min_severity = \"nit\"\n"));
    assert_eq!(floor(&sources), ("nit", "config.toml:1".to_owned()));
    sources.repository = Some(document(".review.toml", "\nmin_severity = \"Medium\"\n"));
    assert_eq!(floor(&sources), ("medium", ".review.toml:2".to_owned()));
    sources.environment = environment(&[("REVIEW_MIN_SEVERITY", "high")]);
    assert_eq!(floor(&sources), ("high", "REVIEW_MIN_SEVERITY".to_owned()));
    sources.flags.min_severity = Some("none".to_owned());
    assert_eq!(floor(&sources), ("none", "--min-severity".to_owned()), "a flag lowers the floor again");
}

#[test]
fn every_setting_can_come_from_the_users_file() {
    let text = "include = ['src/**']\nexclude = ['**/*.snap']\nmin_severity = 'low'\nfail_on = 'high'\nrequest_changes_on = 'medium'\ntimeout = '90s'\n\
                max_commits = 5\ncomment_on = 'low'\nmax_comments = 3\nkeep_runs = '2w'\ncolour = 'never'\nformat = 'json'\nmodel = 'ollama/x,gemini'\nrules.off = ['go']\nrules.severity = ['go=low']\nrules.packs = '/packs'\nrules.lines = 'all'\nrules.hints = 'told'\n\
                guidelines = ['claude']\nguideline_files = ['docs/style.md']\n\
                min_confidence = 7\nverify = 'All'\nverify_model = 'gemini'\nmax_turns = 7\nmax_tokens = '500k'\nmax_cost = 2.5\ninstructions = 'notes/review.md'\nprompts = '/prompts'\nproviders = 'mine.toml'\nallow_build = ['cargo.test']\n\
                [openai-chat]\nbase_url = 'http://127.0.0.1:8080/v1'\napi_key = \"sk-1\\n\"\ncontext_window = 64_000\nrequests_per_minute = 50\ntokens_per_minute = '40k'\n";
    let mut sources = user(text);
    sources.user.as_mut().unwrap().folder = Some(PathBuf::from("/home/ada/.config/review"));
    let settings = resolve(&sources).unwrap().settings;
    let wanted = Settings {
        include: vec![vec!["src/**".to_owned()]],
        exclude: vec!["**/*.snap".to_owned()],
        min_severity: Some(Severity::Low),
        min_confidence: Confidence::new(7),
        fail_on: Some(Severity::High),
        request_changes_on: Some(Severity::Medium),
        comment_on: Some(Severity::Low),
        max_comments: 3,
        timeout: Duration::from_secs(90),
        max_commits: 5,
        keep_runs: Duration::from_hours(14 * 24),
        colour: Colour::Never,
        format: "json".to_owned(),
        model: ModelChoice::Named { provider: "ollama".to_owned(), model: Some("x".to_owned()) },
        next_models: vec![ModelChoice::Named { provider: "gemini".to_owned(), model: None }],
        verify: Verify::All,
        verify_model: Some(ModelChoice::Named { provider: "gemini".to_owned(), model: None }),
        max_turns: 7,
        max_tokens: 500_000,
        max_cost: Some("2.50".parse().unwrap()),
        instructions: Some(PathBuf::from("/home/ada/.config/review/notes/review.md")),
        prompts: Some(PathBuf::from("/prompts")),
        rule_packs: Some(PathBuf::from("/packs")),
        guidelines: vec![GuidelineKind::Claude],
        guideline_files: vec![RepoPath::parse("docs/style.md").unwrap()],
        providers_file: Some(PathBuf::from("/home/ada/.config/review/mine.toml")),
        providers: [(
            "openai-chat",
            ProviderSettings {
                base_url: Some("http://127.0.0.1:8080/v1".to_owned()),
                api_key: Some(Secret::new("sk-1")),
                context_window: Some(64_000),
                requests_per_minute: Some(50),
                tokens_per_minute: Some(40_000),
            },
        )]
        .into(),
        allow_build: vec!["cargo.test".to_owned()],
        rules_off: vec!["go".to_owned()],
        rules_all_lines: true,
        rules_hints: true,
        rules_severity: vec![("go".to_owned(), Severity::Low)],
    };
    assert_eq!(settings, wanted);
}

#[test]
fn every_setting_can_come_from_the_environment() {
    for key in KEYS {
        let value = match key.name {
            "min_severity" | "fail_on" | "request_changes_on" | "comment_on" => "low",
            "timeout" | "keep_runs" => "7m",
            "max_commits" | "max_comments" | "max_turns" | "max_tokens" | "max_cost" | "min_confidence" => "7",
            "verify" => "none",
            "rules.lines" => "all",
            "rules.hints" => "told",
            "colour" => "always",
            "guidelines" => "agents",
            "rules.severity" => "go=low",
            _ => match key.shape {
                ValueShape::Address => "https://llm.example/v1",
                ValueShape::Secret => "sk-1",
                _ if key.name.ends_with("requests_per_minute") => "50",
                _ if key.provider().is_some() => "64k",
                _ => "x/y",
            },
        };
        let shown = if key.shape == ValueShape::Secret { "(set)" } else { value };
        let environment = vec![(key.environment_variable(), value.to_owned())];
        let resolved = resolve(&SettingsSources { environment, ..SettingsSources::default() }).unwrap();
        let (_, got, origin) = resolved.origins.iter().find(|(name, _, _)| *name == key.name).unwrap();
        assert_eq!(
            (got.to_string().as_str(), origin),
            (shown, &SettingOrigin::Environment { variable: key.environment_variable() })
        );
        assert_ne!(resolved.settings, resolve(&SettingsSources::default()).unwrap().settings, "{}", key.name);
    }
}

#[test]
fn every_flag_counts() {
    let one = |text: &str| Some(text.to_owned());
    let flags = Flags {
        include: vec!["a/**".to_owned()],
        exclude: vec!["b/**".to_owned()],
        min_severity: one("low"),
        min_confidence: one("1"),
        fail_on: one("high"),
        request_changes_on: one("high"),
        comment_on: one("high"),
        max_comments: one("3"),
        timeout: one("1m"),
        colour: one("always"),
        format: one("json"),
        model: one("none"),
        verify: one("all"),
        verify_model: one("SAME"),
        max_turns: one("3"),
        max_tokens: one("3m"),
        max_cost: one("2"),
        instructions: Some(PathBuf::from("notes.md")),
        allow_build: vec!["all".to_owned()],
        rules_lines: one("all"),
        rules_hints: one("told"),
    };
    let resolved =
        resolve(&SettingsSources { flags, user: Some(document("u", "model = 'a/b'")), ..SettingsSources::default() })
            .unwrap();
    let from_flags = resolved.origins.iter().filter(|(_, _, origin)| matches!(origin, SettingOrigin::Flag { .. }));
    let names: Vec<&str> = from_flags.map(|(name, _, _)| *name).collect();
    let with_flag = KEYS.iter().filter(|key| key.flag.is_some());
    assert_eq!(names, with_flag.map(|key| key.name).collect::<Vec<_>>());
    assert_eq!(resolved.settings.model, ModelChoice::Rules);
    assert_eq!(resolved.settings.instructions, Some(PathBuf::from("notes.md")), "as the working directory has it");
}

#[test]
fn a_repository_can_only_narrow_what_is_included() {
    let mut sources = repository("include = ['src/**']\nexclude = ['vendor/**']\n");
    sources.user = Some(document("config.toml", "include = ['old/**']\nexclude = ['*.lock', 'vendor/**']\n"));
    sources.flags.include = vec!["src/a/**".to_owned(), "docs/**".to_owned()];
    sources.environment = environment(&[("REVIEW_EXCLUDE", "*.{png,svg}, *.gif")]);
    let resolved = resolve(&sources).unwrap();
    assert_eq!(resolved.settings.include, [vec!["src/a/**", "docs/**"], vec!["src/**"]], "both must match");
    assert_eq!(resolved.settings.exclude, ["*.lock", "vendor/**", "*.{png,svg}", "*.gif"], "all of them hold");
    let rows = |wanted: &str| resolved.origins.iter().filter(|(name, _, _)| *name == wanted).count();
    assert_eq!((rows("include"), rows("exclude")), (2, 3));
}

#[test]
fn what_a_repository_may_not_set_is_named() {
    for (text, key) in [
        ("model = 'anthropic/x'", "model"),
        ("# first\nprovider = 'evil'", "provider"),
        ("base_url = 'https://evil.example'", "base_url"),
        ("[headers]\nx = 'y'", "headers"),
        ("format = 'json'", "format"),
        ("allow_build = ['all']", "allow_build"),
        ("output = '/etc/passwd'", "output"),
        ("fail_on = 'critical'", "fail_on"),
        ("keep_runs = '9w'", "keep_runs"),
        ("colour = 'always'", "colour"),
        ("api_key = 'x'", "api_key"),
        ("command = ['sh']", "command"),
        ("model = { base_url = 'x' }", "model"),
        ("instructions = 'evil.md'", "instructions"),
        ("prompts = 'evil'", "prompts"),
        ("[anthropic]\nbase_url = 'https://evil.example'", "anthropic.base_url"),
        ("openai-chat.api_key = 'x'", "openai-chat.api_key"),
        ("[ollama]\nbase_ur = 'https://evil.example'", "ollama.base_ur"),
        ("gemini = 'x'", "gemini"),
        ("max_cost = 5", "max_cost"),
    ] {
        let message = told(&repository(text));
        assert!(message.starts_with(".review.toml:"), "{message}");
        assert!(
            message.contains(&format!("a repository may not set \"{key}\"; set it in your own settings file")),
            "{message}"
        );
    }
    assert!(told(&repository("# first\nprovider = 'evil'")).starts_with(".review.toml:2:"));
}

#[test]
fn a_repository_may_lower_a_budget_and_not_raise_it() {
    let lowered = resolve(&repository("timeout = '5m'\nmax_commits = 20")).unwrap().settings;
    assert_eq!((lowered.timeout, lowered.max_commits), (Duration::from_mins(5), 20));
    assert_eq!(
        told(&repository("timeout = '21m'")),
        ".review.toml:1: a repository may not raise timeout to \"21m\" above your own 20m; lower it there, or raise your own"
    );
    assert!(told(&repository("max_commits = 201")).contains("above your own 200"));
    assert!(told(&repository("max_turns = 41")).contains("may not raise max_turns to \"41\" above your own 40"));
    assert!(told(&repository("max_tokens = '3m'")).contains("may not raise max_tokens to \"3m\" above your own 2m"));
    let lowered = resolve(&repository("max_turns = 4\nmax_tokens = 1_000")).unwrap().settings;
    assert_eq!((lowered.max_turns, lowered.max_tokens), (4, 1_000));
    let mut generous = repository("timeout = '21m'");
    generous.flags.timeout = Some("1h".to_owned());
    assert_eq!(resolve(&generous).unwrap().settings.timeout, Duration::from_hours(1), "and the flag wins");
    generous.flags.timeout = None;
    generous.user = Some(document("config.toml", "timeout = '30m'"));
    assert_eq!(resolve(&generous).unwrap().settings.timeout, Duration::from_mins(21));
}

#[test]
fn unknown_settings_are_errors_with_a_guess() {
    assert_eq!(told(&user("\n\nexlude = []")), "config.toml:3: unknown setting \"exlude\"; did you mean exclude?");
    assert_eq!(
        told(&user("min-severity = 'low'")),
        "config.toml:1: unknown setting \"min-severity\"; did you mean min_severity?"
    );
    assert_eq!(told(&user("[rules]\nof = []")), "config.toml:2: unknown setting \"rules.of\"; did you mean rules.off?");
    assert_eq!(told(&user("color = 'auto'")), "config.toml:1: unknown setting \"color\"; did you mean colour?");
    assert_eq!(told(&user("zebra = 1")), "config.toml:1: unknown setting \"zebra\"");
    assert_eq!(
        told(&repository("modell = 'x'")),
        ".review.toml:1: unknown setting \"modell\"",
        "no guess at what it may not set"
    );
}

#[test]
fn bad_values_are_told_with_their_place_and_what_may_be_written() {
    assert_eq!(
        told(&user("fail_on = 'hgih'")),
        "config.toml:1: fail_on cannot be \"hgih\"; it takes critical, high, medium, low, nit or none"
    );
    assert_eq!(
        told(&user("include = 'src'")),
        "config.toml:1: include cannot be a single text; it takes globs such as \"src/**\""
    );
    assert_eq!(
        told(&user("exclude = [1]")),
        "config.toml:1: exclude cannot be a single number; it takes globs such as \"src/**\""
    );
    assert_eq!(
        told(&user("exclude = ['a', 'b[']")),
        "config.toml:1: exclude cannot be \"b[\"; it takes globs such as \"src/**\""
    );
    let sources =
        SettingsSources { environment: environment(&[("REVIEW_TIMEOUT", "soon")]), ..SettingsSources::default() };
    assert_eq!(
        told(&sources),
        "REVIEW_TIMEOUT: timeout cannot be \"soon\"; it takes a time such as \"90s\", \"20m\", \"1h30m\" or \"30d\""
    );
    let mut flags = user("colour = 'pink'");
    flags.flags.colour = Some("never".to_owned());
    assert!(told(&flags).starts_with("config.toml:1: colour cannot be \"pink\""), "although a flag replaces it");
    assert!(told(&user("a = \n")).starts_with("config.toml:1: not valid TOML"));
    assert!(told(&user("max_commits = -1")).contains("a number from 0 to 1000000"));
}

#[test]
fn a_model_is_a_name() {
    let model = |text: &str| resolve(&user(&format!("model = '{text}'"))).map(|resolved| resolved.settings.model);
    let named = |provider: &str, model: Option<&str>| ModelChoice::Named {
        provider: provider.to_owned(),
        model: model.map(str::to_owned),
    };
    assert_eq!(model("anthropic").unwrap(), named("anthropic", None));
    assert_eq!(model("openai-chat/meta-llama/Llama-3").unwrap(), named("openai-chat", Some("meta-llama/Llama-3")));
    assert_eq!(model("ollama/qwen3:8b").unwrap(), named("ollama", Some("qwen3:8b")));
    assert_eq!((model("None").unwrap(), model("auto").unwrap()), (ModelChoice::Rules, ModelChoice::Auto));
    for bad in ["", "/x", "anthropic/", "anthropic/a,openai/b,", "anthropic/a b"] {
        let message = model(bad).unwrap_err().to_string();
        assert!(message.contains("it takes PROVIDER/NAME, a PROVIDER alone, several"), "{bad}: {message}");
    }
}

#[test]
fn budgets_are_whole_numbers_within_reason() {
    for text in ["max_turns = 0", "max_turns = 1001", "max_turns = 'many'", "max_tokens = 0", "max_tokens = '2g'"] {
        assert!(told(&user(text)).contains("it takes a "), "{text}");
    }
    assert!(told(&user("[gemini]\ncontext_window = 200")).contains("from 1000"));
}

#[test]
fn an_empty_variable_or_key_says_nothing() {
    let mut sources = user("[anthropic]\napi_key = 'sk-1'\n");
    sources.environment = environment(&[("REVIEW_ANTHROPIC_API_KEY", " "), ("REVIEW_INSTRUCTIONS", "")]);
    let settings = resolve(&sources).unwrap().settings;
    assert_eq!((settings.provider("anthropic").api_key, settings.instructions), (Some(Secret::new("sk-1")), None));
    assert_eq!(resolve(&user("[anthropic]\napi_key = ''\n")).unwrap().settings.provider("anthropic").api_key, None);
}

#[test]
fn variables_that_mean_nothing_are_listed_without_their_values() {
    let environment = environment(&[
        ("REVIEW_TOKEN", "secret"),
        ("REVIEW_MCP_TOKEN", "secret"),
        ("REVIEW_FORMAT", ""),
        ("HOME", "/root"),
        ("REVIEW_EXLUDE", "x"),
        ("review_timeout", "1m"),
    ]);
    let resolved = resolve(&SettingsSources { environment, ..SettingsSources::default() }).unwrap();
    assert_eq!(resolved.ignored_env, ["REVIEW_EXLUDE", "REVIEW_TOKEN"]);
    assert_eq!(resolved.settings.format, "terminal", "an empty variable says nothing");
    assert!(!format!("{resolved:?}").contains("secret"));
}

#[test]
fn a_hostile_file_is_refused_in_plain_text() {
    let message = told(&repository("\"\\u001b]0;owned\\u0007x\\u202ey\" = 1"));
    assert_eq!(message, ".review.toml:1: unknown setting \"x<U+202E>y\"");
    let message = told(&repository(&format!("min_severity = '{}'", "a".repeat(100_000))));
    assert!(message.len() < 300, "{}", message.len());
    let message = told(&repository(&format!("# {}", "a".repeat(300_000))));
    assert!(message.contains("the limit is 262144"), "{message}");
    let deep = format!("include = {}", "[".repeat(50_000));
    assert!(resolve(&repository(&deep)).is_err());
    let many = format!("exclude = [{}]", "'a',".repeat(1_001));
    assert_eq!(told(&repository(&many)), ".review.toml:1: exclude has more than 1000 entries");
    assert!(matches!(SettingsDocument::from_bytes("x", b"\xff"), Err(ConfigError::NotText { .. })));
}

proptest! {
    #[test]
    fn no_file_makes_it_panic_or_hands_a_repository_more(text in "[ -~\n\"'=\\[\\]a-z_]{0,80}", junk in any::<String>()) {
        for text in [text, junk] {
            if let Ok(resolved) = resolve(&repository(&text)) {
                let defaults = resolve(&SettingsSources::default()).unwrap().settings;
                prop_assert!(resolved.settings.timeout <= defaults.timeout);
                prop_assert_eq!(resolved.settings.model, ModelChoice::Auto);
                prop_assert!(resolved.settings.max_tokens <= defaults.max_tokens && resolved.settings.providers.is_empty());
                prop_assert_eq!(resolved.settings.format, defaults.format);
            }
        }
    }
}
