//! The formats of keys and tokens that tell whose they are, as the providers document them. The table is [`PROVIDERS`].
//!
//! What another rule set knows (see `external_rules`) need not stand here.

use super::edges::ends_in_escape;
use super::patterns::{SecretPattern, group, is_random_value, pattern};
use super::values::is_jwt;

/// Every format.
pub(super) static PROVIDERS: &[SecretPattern] = &[
    pattern!("aws-access-key", &["AKIA", "ASIA", "ABIA", "ACCA"], "([A-Z]{4}[A-Z2-7]{16})"),
    pattern!("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], "(gh[pousr]_[A-Za-z0-9]{36,255})"),
    pattern!("github-token", &["github_pat_"], "(github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})"),
    pattern!(
        "gitlab-token",
        &["glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glsoat-", "glagent-", "gloas-", "glimt-", "glft-"],
        r"(gl[a-z]{2,5}-[A-Za-z0-9_-]{20,64}(?:\.[A-Za-z0-9.]{2,40})?)"
    ),
    pattern!(
        "slack-token",
        &["xox", "xapp-"],
        r"(x(?:ox[abprs]|app)-(?:[0-9]-)?(?:[A-Z0-9]{8,14}-)?[0-9]{8,14}-[A-Za-z0-9-]{10,200})"
    ),
    pattern!(
        "slack-webhook",
        &["hooks.slack.com/services/"],
        r"hooks\.slack\.com/services/(T[A-Z0-9]{7,14}/B[A-Z0-9]{7,14}/[A-Za-z0-9]{20,40})",
        true,
        is_random_value
    ),
    pattern!("stripe-key", &["sk_live_", "rk_live_"], "([sr]k_live_[A-Za-z0-9]{20,247})"),
    pattern!("stripe-webhook-secret", &["whsec_"], "(whsec_[A-Za-z0-9+/]{32,64}={0,2})"),
    pattern!("google-api-key", &["AIza"], "(AIza[0-9A-Za-z_-]{35})"),
    pattern!("anthropic-key", &["sk-"], "(sk-ant-[a-z0-9]{3,12}-[A-Za-z0-9_-]{32,200})"),
    pattern!(
        "openai-key",
        &["sk-"],
        "(sk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,255}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|(?P<bare>[A-Za-z0-9]{48})))",
        false,
        |groups, before| {
            // `task-` and `disk-` begin names that are as random.
            let in_word = before.bytes().next_back().is_some_and(|byte| byte.is_ascii_lowercase());
            let is_name = groups.name("bare").is_some() && in_word && !ends_in_escape(before.as_bytes());
            !is_name && is_random_value(groups, before)
        }
    ),
    pattern!("npm-token", &["npm_"], "(npm_[A-Za-z0-9]{36})"),
    pattern!("pypi-token", &["pypi-AgEI"], "(pypi-AgEI[A-Za-z0-9_-]{50,1000})"),
    pattern!("sendgrid-key", &["SG."], r"(SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})"),
    pattern!(
        "twilio-token",
        &["twilio", "TWILIO", "Twilio"],
        r#"[A-Za-z]{6}[0-9A-Za-z_.\u{80}-\u{10ffff}-]{0,20}(?i:token|secret)["']?[ \t]{0,4}(?:=>|:=|=|:)[ \t]{0,4}["']?([0-9a-f]{32})"#,
        true,
        is_random_value
    ),
    pattern!("openrouter-key", &["sk-"], "(sk-or-v1-[0-9a-f]{64})"),
    pattern!("groq-key", &["gsk_"], "(gsk_[A-Za-z0-9]{52})"),
    pattern!("xai-key", &["xai-"], "(xai-[A-Za-z0-9]{80})"),
    pattern!("perplexity-key", &["pplx-"], "(pplx-[A-Za-z0-9]{40,56})"),
    pattern!("replicate-token", &["r8_"], "(r8_[A-Za-z0-9]{37})"),
    pattern!("huggingface-token", &["hf_"], "(hf_[A-Za-z0-9]{34,40})"),
    pattern!("langsmith-key", &["lsv2_"], "(lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10})"),
    pattern!("databricks-token", &["dapi"], "(dapi[0-9a-f]{32}(?:-[0-9])?)"),
    pattern!("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], "(shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32})"),
    pattern!("square-token", &["sq0"], "(sq0(?:atp-[A-Za-z0-9_-]{22}|csp-[A-Za-z0-9_-]{43}))"),
    pattern!(
        "braintree-token",
        &["access_token$production$"],
        r"(access_token\$production\$[a-z0-9]{16}\$[0-9a-f]{32})"
    ),
    pattern!("linear-key", &["lin_api_"], "(lin_api_[A-Za-z0-9]{40})"),
    pattern!("notion-token", &["ntn_"], "(ntn_[0-9]{11}[A-Za-z0-9]{35})"),
    pattern!("figma-token", &["figd_"], "(figd_[A-Za-z0-9_-]{40})"),
    pattern!("postman-key", &["PMAK-"], "(PMAK-[0-9a-f]{24}-[0-9a-f]{34})"),
    pattern!(
        "doppler-token",
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
        r"(dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44})"
    ),
    pattern!("vault-token", &["hvs.", "hvb."], r"(hv[sb]\.[A-Za-z0-9_-]{24,300})"),
    pattern!("terraform-token", &[".atlasv1."], r"\.atlasv1\.([A-Za-z0-9_=-]{60,70})", true, is_random_value),
    pattern!("pulumi-token", &["pul-"], "(pul-[0-9a-f]{40})"),
    pattern!("grafana-token", &["glsa_"], "(glsa_[A-Za-z0-9]{32}_[0-9A-Fa-f]{8})"),
    pattern!("grafana-token", &["glc_eyJ"], "(glc_eyJ[A-Za-z0-9+/]{40,400}={0,3})"),
    pattern!("new-relic-key", &["NRAK-", "NRII-"], "(NR(?:AK-[A-Z0-9]{27}|II-[A-Za-z0-9_-]{32}))"),
    pattern!("dynatrace-token", &["dt0c01."], r"(dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64})"),
    pattern!("sentry-token", &["sntry"], "(sntry(?:u_[0-9a-f]{64}|s_eyJ[A-Za-z0-9+/=_]{80,400}))"),
    pattern!("telegram-token", &[":AA"], ":(AA[A-Za-z0-9_-]{33})", true, |groups, before| {
        let digits = before.bytes().rev().take_while(u8::is_ascii_digit).count();
        (8..=10).contains(&digits) && is_random_value(groups, before)
    }),
    pattern!("azure-storage-key", &["AccountKey="], "AccountKey=([A-Za-z0-9+/]{86}==)", true, is_random_value),
    pattern!("azure-client-secret", &["8Q~"], "(8Q~[A-Za-z0-9_~.-]{31,34})", true, |groups, before| {
        let first =
            before.bytes().rev().take_while(|byte| byte.is_ascii_alphanumeric() || b"_~.-".contains(byte)).count();
        first == 3 && is_random_value(groups, before)
    }),
    pattern!("google-oauth-secret", &["GOCSPX-"], "(GOCSPX-[A-Za-z0-9_-]{28})"),
    pattern!("google-oauth-token", &["ya29."], r"(ya29\.[A-Za-z0-9_-]{50,400})"),
    pattern!("atlassian-token", &["ATATT3xFfGF0", "ATCTT3xFfGF0"], "(AT[AC]TT3xFfGF0[A-Za-z0-9_=-]{100,300})"),
    pattern!("bitbucket-token", &["ATBB"], "(ATBB[A-Za-z0-9]{32})"),
    pattern!("brevo-key", &["xkeysib-"], "(xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16})"),
    pattern!("docker-token", &["dckr_"], "(dckr_[po]at_[A-Za-z0-9_-]{27,32})"),
    pattern!("jfrog-key", &["AKCp"], "(AKCp[A-Za-z0-9]{69})"),
    pattern!("rubygems-key", &["rubygems_"], "(rubygems_[0-9a-f]{48})"),
    pattern!("clojars-token", &["CLOJARS_"], "(CLOJARS_[0-9a-f]{60})"),
    pattern!("planetscale-token", &["pscale_"], "(pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64})"),
    pattern!("supabase-key", &["sbp_", "sb_secret_"], "(sb(?:p_[0-9a-f]{40}|_secret_[A-Za-z0-9_-]{31,40}))"),
    pattern!("sourcegraph-token", &["sgp_"], "(sgp_(?:(?:[0-9a-f]{16}|local)_)?[0-9a-f]{40})"),
    pattern!("one-password-token", &["ops_eyJ"], "(ops_eyJ[A-Za-z0-9+/=_-]{200,3000})"),
    pattern!("age-key", &["AGE-SECRET-KEY-1"], "(AGE-SECRET-KEY-1[A-Z0-9]{58})"),
    pattern!(
        "jwt",
        &["eyJ"],
        r"(eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{20,1000})",
        false,
        |groups, _| is_jwt(group(groups, 1))
    ),
];
