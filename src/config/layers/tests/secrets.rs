//! Keys and addresses: what is never shown.

use super::*;

#[test]
fn a_key_is_never_shown() {
    let mut sources = user("[anthropic]\napi_key = 'topsecret1'\n");
    sources.environment = environment(&[("REVIEW_OPENAI_API_KEY", "topsecret2")]);
    let resolved = resolve(&sources).unwrap();
    assert_eq!(resolved.settings.provider("anthropic").api_key, Some(Secret::new("topsecret1")));
    assert_eq!(resolved.settings.provider("openai").api_key, Some(Secret::new("topsecret2")));
    let shown: Vec<String> = resolved.origins.iter().map(|(_, value, origin)| format!("{value} {origin}")).collect();
    assert!(!format!("{sources:?} {resolved:?} {shown:?}").contains("topsecret"));
    for bad in ["[anthropic]\napi_key = \"topsecret\\nX-Header: y\"", "[anthropic]\napi_key = 'topsecret-é'"] {
        let message = told(&user(bad));
        assert!(message.contains("config.toml:2: anthropic.api_key cannot be what it is set to"), "{message}");
        assert!(!message.contains("topsecret"), "{message}");
    }
    assert!(!told(&user("[anthropic]\napi_key = 17 # topsecret")).contains("topsecret"));
    assert!(
        !told(&user("[anthropic]\napi_key = 'topsecret")).contains("topsecret"),
        "where the file is no TOML either"
    );
}

#[test]
fn an_address_is_one_and_holds_no_password() {
    let set = |text: &str| {
        resolve(&user(&format!("openai.base_url = '{text}'")))
            .map(|resolved| resolved.settings.provider("openai").base_url)
    };
    assert_eq!(set("https://llm.example/v1/").unwrap().as_deref(), Some("https://llm.example/v1/"));
    assert_eq!(set("").unwrap(), None);
    for bad in ["llm.example", "ftp://llm.example", "https://a b"] {
        assert!(set(bad).unwrap_err().to_string().contains(bad), "{bad}");
    }
    for bad in ["https://ada:topsecret@llm.example", "https://llm.example/?key=topsecret"] {
        let message = set(bad).unwrap_err().to_string();
        assert!(message.contains("a key goes into api_key") && !message.contains("topsecret"), "{message}");
    }
}
