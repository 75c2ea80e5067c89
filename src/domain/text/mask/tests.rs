//! Tests of texts that are masked and texts that are not. Keys are put together here, so that no scanner takes this file for a leak.

use super::*;
use base64::Engine as _;
use proptest::prelude::*;

/// Letters and digits in no order.
fn noise(length: usize, alphabet: &str) -> String {
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mut state = 7usize;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        alphabet[(state >> 33) % alphabet.len()]
    };
    (0..length).map(|_| next()).collect()
}

const MIXED: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";

fn mixed(prefix: &str, length: usize) -> String {
    format!("{prefix}{}", noise(length, MIXED))
}

/// One of every kind, each with the line it stands in.
#[expect(clippy::too_many_lines, reason = "a table")]
fn secrets() -> Vec<(&'static str, String, String)> {
    let plain = [
        ("aws-access-key", format!("AKIA{}", noise(16, UPPER))),
        ("aws-access-key", format!("ASIA{}", noise(16, UPPER))),
        ("github-token", mixed("ghp_", 36)),
        ("github-token", mixed("ghs_", 36)),
        ("github-token", format!("github_pat_{}_{}", noise(22, MIXED), noise(59, MIXED))),
        ("gitlab-token", mixed("glpat-", 20)),
        ("slack-token", format!("xoxb-{}-{}-{}", noise(12, "0123456789"), noise(12, "0123456789"), noise(24, MIXED))),
        ("stripe-key", mixed("sk_live_", 24)),
        ("stripe-key", mixed("rk_live_", 99)),
        ("google-api-key", mixed("AIza", 35)),
        ("openai-key", mixed("sk-", 48)),
        ("openai-key", mixed("sk-proj-", 120)),
        ("anthropic-key", format!("sk-ant-api03-{}-{}AA", noise(60, MIXED), noise(30, MIXED))),
        ("npm-token", mixed("npm_", 36)),
        ("pypi-token", mixed("pypi-AgEI", 120)),
        ("sendgrid-key", format!("SG.{}.{}", noise(22, MIXED), noise(43, MIXED))),
        ("jwt", format!("eyJhbGciOiJIUzI1NiJ9.eyJ{}.{}", noise(40, MIXED), noise(43, MIXED))),
        ("gitlab-token", mixed("glrt-", 20)),
        ("openrouter-key", format!("sk-or-v1-{}", noise(64, HEX))),
        ("groq-key", mixed("gsk_", 52)),
        ("xai-key", mixed("xai-", 80)),
        ("perplexity-key", mixed("pplx-", 48)),
        ("replicate-token", mixed("r8_", 37)),
        ("huggingface-token", mixed("hf_", 34)),
        ("langsmith-key", format!("lsv2_pt_{}_{}", noise(32, HEX), noise(10, HEX))),
        ("databricks-token", format!("dapi{}", noise(32, HEX))),
        ("shopify-token", format!("shpat_{}", noise(32, HEX))),
        ("square-token", mixed("sq0csp-", 43)),
        ("braintree-token", format!("access_token$production${}${}", noise(16, HEX), noise(32, HEX))),
        ("linear-key", mixed("lin_api_", 40)),
        ("notion-token", format!("ntn_{}{}", noise(11, "0123456789"), noise(35, MIXED))),
        ("figma-token", mixed("figd_", 40)),
        ("postman-key", format!("PMAK-{}-{}", noise(24, HEX), noise(34, HEX))),
        ("doppler-token", mixed("dp.st.prd.", 42)),
        ("vault-token", mixed("hvs.", 92)),
        ("pulumi-token", format!("pul-{}", noise(40, HEX))),
        ("grafana-token", format!("glsa_{}_{}", noise(32, MIXED), noise(8, HEX))),
        ("grafana-token", mixed("glc_eyJ", 80)),
        ("new-relic-key", format!("NRAK-{}", noise(27, UPPER))),
        ("dynatrace-token", format!("dt0c01.{}.{}", noise(24, UPPER), noise(64, UPPER))),
        ("sentry-token", format!("sntryu_{}", noise(64, HEX))),
        ("google-oauth-secret", mixed("GOCSPX-", 28)),
        ("google-oauth-token", mixed("ya29.", 120)),
        ("atlassian-token", mixed("ATATT3xFfGF0", 160)),
        ("bitbucket-token", mixed("ATBB", 32)),
        ("brevo-key", format!("xkeysib-{}-{}", noise(64, HEX), noise(16, MIXED))),
        ("docker-token", mixed("dckr_pat_", 27)),
        ("jfrog-key", mixed("AKCp", 69)),
        ("rubygems-key", format!("rubygems_{}", noise(48, HEX))),
        ("clojars-token", format!("CLOJARS_{}", noise(60, HEX))),
        ("planetscale-token", mixed("pscale_tkn_", 43)),
        ("supabase-key", format!("sbp_{}", noise(40, HEX))),
        ("sourcegraph-token", format!("sgp_local_{}", noise(40, HEX))),
        ("one-password-token", mixed("ops_eyJ", 400)),
        ("age-key", format!("AGE-SECRET-KEY-1{}", noise(58, UPPER))),
        // Of the kept rule set.
        ("digitalocean-token", format!("dop_v1_{}", noise(64, HEX))),
        ("flyio-access-token", mixed("fo1_", 43)),
    ];
    let mut all: Vec<_> = plain.into_iter().map(|(kind, key)| (kind, format!("let a = \"{key}\";"), key)).collect();
    let secret = noise(40, MIXED);
    all.push(("aws-secret-key", format!("AWS_SECRET_ACCESS_KEY={secret}"), secret.clone()));
    all.push(("aws-secret-key", format!("  secretAccessKey: '{secret}',"), secret));
    let hook = format!("T{}/B{}/{}", noise(9, UPPER), noise(9, UPPER), noise(24, MIXED));
    all.push(("slack-webhook", format!("url: https://hooks.slack.com/services/{hook}"), hook));
    let twilio = noise(32, HEX);
    all.push(("twilio-token", format!("TWILIO_AUTH_TOKEN={twilio}"), twilio));
    let word = noise(14, MIXED);
    all.push(("url-password", format!("DB=postgres://shop:{word}@db.internal:5432/shop"), word));
    let storage = noise(86, MIXED) + "==";
    all.push(("azure-storage-key", format!("AccountName=shop;AccountKey={storage};EndpointSuffix=x"), storage));
    let azure = mixed("8Q~", 34);
    all.push(("azure-client-secret", format!("id = \"aB3{azure}\""), azure));
    let telegram = mixed("AA", 33);
    all.push(("telegram-token", format!("bot = '110201543:{telegram}'"), telegram));
    let terraform = noise(67, MIXED);
    all.push(("terraform-token", format!("terraform {}.atlasv1.{terraform} end", noise(14, MIXED)), terraform));
    let hook = format!("https://discord.com/api/webhooks/{}/{}", noise(18, "0123456789"), noise(64, MIXED));
    all.push(("discord-webhook", format!("url = \"{hook}\""), hook));
    let word = noise(14, MIXED);
    all.push(("url-password", format!("REDIS_URL=rediss://:{word}@cache.internal:6379/0"), word));
    for line in ["DB_PASSWORD=", "  api_key: ", "export GITHUB_TOKEN=", "ENV SECRET_KEY="] {
        let value = noise(24, MIXED);
        all.push(("assigned-secret", format!("{line}{value}"), value));
    }
    let value = noise(24, MIXED);
    all.push(("assigned-secret", format!("db_password = \"{value}\""), value.clone()));
    all.push(("assigned-secret", format!("q = 'https://shop.internal/?api_key={value}&x=1'"), value.clone()));
    all.push(("assigned-secret", format!("c = \"Server=db;Password={value};Encrypt=1\""), value.clone()));
    all.push(("assigned-secret", format!("k = 'password={value}\\n'"), value.clone()));
    let word = noise(15, MIXED);
    all.push(("url-password", format!("w = 'postgres%3A%2F%2Fshop%3A{word}%40db.internal%2Fx'"), word));
    let pair = base64::prelude::BASE64_STANDARD.encode(format!("shop:{value}"));
    all.push(("basic-password", format!("h = 'Authorization: Basic {pair}'"), pair));
    all.push(("assigned-secret", format!("const API_TOKEN: &str = \"{value}\";"), value.clone()));
    all.push(("assigned-secret", format!("  \"client_secret\": '{value}',"), value));
    all
}

#[test]
fn a_private_key_in_a_url_is_masked() {
    let (first, last) = (noise(64, MIXED), noise(40, MIXED));
    let text = format!(
        "u = 'https://a.internal/?k=-----BEGIN%20RSA%20PRIVATE%20KEY-----%0A{first}%2B%0A{last}%3D%0A-----END%20RSA%20PRIVATE%20KEY-----'\n"
    );
    let masked = mask(&text).text;
    assert!(!masked.contains(&first[..20]) && !masked.contains(&last[..20]), "{masked}");
    assert!(masked.contains("k=-----BEGIN%20RSA") && masked.contains("-----END%20RSA"), "{masked}");
}

#[test]
fn every_pattern_compiles_and_finds_its_kind() {
    for (kind, line, secret) in secrets() {
        let hits = secrets_in(&line);
        let found: Vec<_> = hits.iter().map(|hit| (hit.kind, &line[hit.range.clone()])).collect();
        assert_eq!(found, [(kind, secret.as_str())], "{line}");
        assert_eq!(mask(&line).text, line.replace(&secret, &format!("[masked:{kind}]")));
    }
}

#[test]
fn names_in_any_script_keep_their_secret() {
    let value = mixed("", 32);
    for name in ["token_für_büro", "passwort", "secretキー", "api_keyключ"] {
        let hits = secrets_in(&format!("{name} = \"{value}\""));
        assert_eq!(hits.iter().map(|hit| hit.kind).collect::<Vec<_>>(), ["assigned-secret"], "{name}");
    }
}

#[test]
fn what_only_looks_like_a_secret_is_left_alone() {
    let key = noise(24, MIXED);
    let sha = noise(64, HEX);
    let fine = [
        format!("hf_{}", "a1".repeat(17)),
        format!("dop_v1_{}", "0123456789abcdef".repeat(4)),
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789".to_owned(),
        "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;"
            .to_owned(),
        "PASSWORD_ENCODER_CIPHER_ALGORITHM_DEFAULT = \"AES/CBC/PKCS5Padding\"".to_owned(),
        "h2://192.168.1.1:8080@443".to_owned(),
        "postgresql://umami:replace-me-with-a-random-string@db:5432/umami".to_owned(),
        "  password: c2VjdXJlLXBhc3N3b3Jk".to_owned(),
        format!("integrity_token = \"sha512-{key}\""),
        format!("secret_sha256 = \"{sha}\""),
        "    let token = parseBase64Token2FromHeader\n".to_owned(),
        "token: OAuth2AccessGrantV2Response".to_owned(),
        "  token: ${GITHUB_TOKEN_2}".to_owned(),
        "API_KEY=process.env.API_KEY_2b7".to_owned(),
        format!("call(token={key})"),
        format!("x = password={key}"),
        "token = \"3f2504e0-4f89-41d3-9a0c-0305e82c3301\"".to_owned(),
        format!("eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoiYW5vbiIsImlzcyI6InMifQ.{}", noise(43, MIXED)),
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        format!("ghp_{}", "x".repeat(36)),
        format!("task-{}", noise(48, MIXED)),
        format!("commit {}", noise(40, HEX)),
        "postgres://user:password@localhost/db".to_owned(),
        "postgres://app:${DB_PASSWORD}@db/app".to_owned(),
        "https://user:<password>@host/x".to_owned(),
        "redis://default:changeme@redis.internal".to_owned(),
        "APP_SECRET=ch4n63m31fy0uc4n".to_owned(),
        "'user_passwords' => 'crwdns12870:0crwdne12870:0',".to_owned(),
        "see http://a.b/c:d@e".to_owned(),
        "password = os.environ[\"DATABASE_PASSWORD_2\"]".to_owned(),
        "token = \"my-test-token-1234567\"".to_owned(),
        "secret_name = \"prod/Db01/credentialsA9x\"".to_owned(),
        "password_hash = \"aB3dE5fG7hJ9kL1mN3pQ\"".to_owned(),
        "const TOKEN_URL: &str = \"oauth2v1TokenEndpoint9\";".to_owned(),
        "token = \"application/vnd.api+json2\"".to_owned(),
        "let token = TokenStream2::new(Ident1234567890);".to_owned(),
        "if text.contains(\"-----BEGIN RSA PRIVATE KEY-----\") {\n    return true;\n}\n".to_owned(),
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n".to_owned(),
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U".to_owned(),
    ];
    for text in fine {
        assert_eq!(secrets_in(&text), [], "{text}");
    }
}

#[test]
fn a_key_block_keeps_its_lines() {
    let body: Vec<String> = (0..5).map(|at| noise(64 - at, MIXED)).collect();
    let text = format!(
        "a\n-----BEGIN RSA PRIVATE KEY-----\n{}\nAg==\n-----END RSA PRIVATE KEY-----\nb = {}\n",
        body.join("\n"),
        body[0]
    );
    let masked = mask(&text);
    assert_eq!(masked.text.lines().count(), text.lines().count());
    assert_eq!(masked.lines, [3, 4, 5, 6, 7, 8]);
    let block = masked.text.split("b = ").next().unwrap();
    assert!(body.iter().all(|line| !block.contains(line.as_str())) && !block.contains("Ag=="));
    assert!(masked.text.ends_with(&format!("b = {}\n", body[0])), "what follows the block is not part of it");
}

#[test]
fn a_key_in_one_string_is_masked_too() {
    let text = format!(
        "k = \"-----BEGIN PRIVATE KEY-----\\n{}\\n{}\\n-----END PRIVATE KEY-----\"",
        noise(64, MIXED),
        noise(40, MIXED)
    );
    let masked = mask(&text).text;
    assert_eq!(masked.matches("[masked:private-key]").count(), 2, "{masked}");
    assert!(masked.ends_with("-----END PRIVATE KEY-----\""));
}

#[test]
fn a_key_of_putty_is_masked_and_its_public_half_is_not() {
    let public = noise(63, MIXED);
    let lines = [noise(64, MIXED)[1..].to_owned() + "+", noise(41, UPPER)];
    let head = format!("PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nPublic-Lines: 1\n{public}\n");
    let key = format!("{head}Private-Lines: 2\n{}\n{}\nPrivate-MAC: {}\n", lines[0], lines[1], noise(64, HEX));
    for (text, kept) in [(key.clone(), true), (key.replace('\n', "\r\n"), true), (key.replace('\n', "\\n"), false)] {
        let masked = mask(&text).text;
        assert_eq!(masked.matches("[masked:private-key]").count(), 2, "{masked}");
        assert!(!lines.iter().any(|line| masked.contains(line)), "{masked}");
        assert!(masked.contains(&public) && masked.contains(&noise(64, HEX)), "{masked}");
        assert_eq!(masked.lines().count() > 5, kept);
    }
    assert_eq!(secrets_in("Private-Lines: 8\nis how many lines follow\n"), []);
    assert_eq!(secrets_in(&"Private-Lines: 999 ".repeat(100_000)), []);
}

#[test]
fn what_stands_in_a_longer_word_by_chance_is_left_alone() {
    let base64 = noise(200, MIXED);
    let fine = [
        format!("npm_{}", noise(64, HEX)),
        format!("cache_npm_{}", noise(64, HEX)),
        format!("x_hf_{}", noise(64, HEX)),
        // A sequence of proteins, and a block of base64.
        format!("MKVLAAGIAKIA{}LLPEDRSTVW", "GLPEDRSTVWYFMNQH"),
        format!("{}AIza{}", &base64[..40], &base64[40..120]),
        format!("disk-{}", noise(48, MIXED)),
        "my_hf_thisIsTheNameOfAFunctionThatIsVeryLong(".to_owned(),
    ];
    for text in fine {
        assert_eq!(secrets_in(&text), [], "{text}");
    }
}

#[test]
fn many_beginnings_on_one_line_do_not_multiply() {
    let begin = "-----BEGIN PRIVATE KEY----- ";
    assert_eq!(secrets_in(&begin.repeat(200_000)), []);
    let text = format!("{begin}{} ", noise(64, MIXED)).repeat(20_000);
    assert_eq!(secrets_in(&text).len(), 20_000);
}

#[test]
fn a_key_whose_base64_has_no_small_letter_is_masked() {
    let masked = mask("token: QVNJQTJBRDJBNDJCNDJCNTZDVDM=\n");
    assert!(!masked.text.contains("RDJBNDJC"), "{}", masked.text);
}

#[test]
fn base64_costs_what_it_is_long() {
    use base64::Engine as _;
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    for word in ["ghp_", "pypi-AgEI", "-----BEGIN PRIVATE KEY-----", "sk-"] {
        assert!(secrets_in(&encode(&word.repeat(20_000 / word.len()))).is_empty(), "{word}");
    }
    let key = mixed("npm_", 36);
    let lines = vec![encode(&key); 400].join("\n");
    assert_eq!(secrets_in(&lines).len(), 400);
}

#[test]
fn every_word_is_looked_for() {
    let searched: usize = WORDS.iter().map(|words| words.owners.len()).sum();
    let all: Vec<&str> = DETECTORS.iter().flat_map(|detector| detector.words()).collect();
    let hidden = |word: &&&str| all.iter().any(|other| other != *word && word.starts_with(other));
    assert_eq!(all.iter().find(hidden), None, "a word that begins with another is never met");
    assert!(searched > WORDS_A_PASS && WORDS.iter().all(|words| words.fast.is_some() || words.search.is_some()));
    assert!(WORDS.iter().flat_map(|words| &words.owners).all(|owners| !owners.is_empty()));
}

#[test]
fn a_secret_that_took_the_place_of_another_is_told_from_it() {
    let line = |value: &str| mask(&format!("a\nghp_{value} ghp_{value}\n"));
    let (one, other) = (noise(36, MIXED), noise(37, MIXED)[1..].to_owned());
    assert_eq!(line(&one), line(&one));
    assert_eq!(line(&one).text, line(&other).text);
    assert_ne!(line(&one).prints, line(&other).prints);
    let places: Vec<u32> = line(&one).prints.iter().map(|(line, _)| *line).collect();
    assert_eq!(places, [2, 2]);
}

#[test]
fn lines_are_told_once_and_in_order() {
    let key = mixed("ghp_", 36);
    let masked = mask(&format!("\n{key} {key}\r\nx\n{key}"));
    assert_eq!(masked.lines, [2, 4]);
    assert_eq!(masked.text, "\n[masked:github-token] [masked:github-token]\r\nx\n[masked:github-token]");
}

fn piece() -> impl Strategy<Value = String> {
    let known: Vec<String> = secrets().into_iter().flat_map(|(_, line, secret)| [line, secret]).collect();
    let block = format!("-----BEGIN PRIVATE KEY-----\n{}\n", noise(64, MIXED));
    prop_oneof![
        3 => proptest::sample::select(known),
        1 => Just(block),
        1 => Just("-----END PRIVATE KEY-----".to_owned()),
        2 => "[\\n\\r \"'=:@/._-]{1,3}",
        2 => "\\PC{0,8}",
        1 => proptest::sample::select(vec!["password", "token = \"", "sk-", "eyJ", "://a:", "[masked:", "aws_secret_key=", "key-", ":AA", "8Q~", "PASSWORD="]).prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn masking_keeps_lines_and_leaves_nothing_to_mask(pieces in proptest::collection::vec(piece(), 0..12)) {
        let text = pieces.concat();
        let masked = mask(&text);
        let breaks = |text: &str| text.matches('\n').count();
        prop_assert_eq!(breaks(&masked.text), breaks(&text));
        prop_assert_eq!(secrets_in(&masked.text), []);
        prop_assert_eq!(&mask(&masked.text).text, &masked.text);
    }
}
