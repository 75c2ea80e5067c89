//! The key of an App, which signs its short-lived tokens (JSON Web Tokens with RS256: RFC 7515, RFC 7519). Main type: [`AppKey`].
//!
//! Whom a token is sent to belongs in `forge`.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::SignatureScheme;
use rustls::crypto::ring::sign::RsaSigningKey;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::sign::SigningKey as _;

/// An RSA key of at least 2048 bits.
#[derive(Clone)]
pub struct AppKey(Arc<RsaSigningKey>);

/// Without the key.
impl fmt::Debug for AppKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AppKey(…)")
    }
}

impl AppKey {
    /// Reads a key in PEM, as PKCS #1 or PKCS #8; `None` if it is none.
    pub fn from_pem(pem: &str) -> Option<Self> {
        let der = PrivateKeyDer::from_pem_slice(pem.as_bytes()).ok()?;
        RsaSigningKey::new(&der).ok().map(Arc::new).map(Self)
    }

    /// Returns a token with these claims; `None` if it cannot be signed.
    pub fn sign(&self, claims: &serde_json::Value) -> Option<String> {
        let encode = |part: &[u8]| URL_SAFE_NO_PAD.encode(part);
        let message =
            format!("{}.{}", encode(br#"{"typ":"JWT","alg":"RS256"}"#), encode(claims.to_string().as_bytes()));
        let signature = self.0.choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256])?.sign(message.as_bytes()).ok()?;
        Some(format!("{message}.{}", encode(&signature)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pem() -> String {
        let body = include_str!("../../fixtures/forge/app-key.b64");
        format!("-----BEGIN {0}-----\n{body}-----END {0}-----\n", "RSA PRIVATE KEY")
    }

    #[test]
    fn a_token_says_how_it_is_signed_and_by_whom() {
        let key = AppKey::from_pem(&pem()).unwrap();
        let token = key.sign(&serde_json::json!({ "iss": 12 })).unwrap();
        let parts: Vec<Vec<u8>> = token.split('.').map(|part| URL_SAFE_NO_PAD.decode(part).unwrap()).collect();
        assert_eq!(parts[0], br#"{"typ":"JWT","alg":"RS256"}"#);
        assert_eq!(parts[1], br#"{"iss":12}"#);
        // Made by `openssl dgst -sha256 -sign` over the first two parts.
        let digest = <sha2::Sha256 as sha2::Digest>::digest(&parts[2]);
        assert_eq!(crate::domain::id::hex(&digest[..8]), "8a8ef45b10f9a83e");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let cut = pem().lines().take(5).collect::<Vec<_>>().join("\n");
        for text in ["", "x", &cut, &pem().replace("RSA PRIVATE", "PUBLIC"), &pem().replace('M', "N")] {
            assert!(AppKey::from_pem(text).is_none(), "{text}");
        }
    }
}
