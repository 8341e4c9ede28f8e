use std::fmt;

use http::HeaderValue;
use thiserror::Error;

/// The key that authorises this client. It prints nothing of itself.
#[derive(Clone)]
pub struct ApiKey {
    authorization: HeaderValue,
}

/// The tunnel that this client serves: 1 to 256 of the characters that stand for themselves in one
/// path segment. It prints nothing of itself.
#[derive(Clone, PartialEq, Eq)]
pub struct TunnelId(String);

/// Why a text is no key or tunnel id. The text itself is never repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SecretFault {
    /// The key is empty.
    #[error("the API key must not be empty")]
    KeyEmpty,
    /// The key holds a byte that no key may hold.
    #[error("the API key must hold visible ASCII characters alone")]
    KeyInvalidByte,
    /// The key is longer than 8192 bytes.
    #[error("the API key must hold at most 8192 bytes")]
    KeyTooLong,
    /// The id is empty.
    #[error("the tunnel id must not be empty")]
    TunnelEmpty,
    /// The id holds a character that would not stand for itself in a path.
    #[error("the tunnel id must hold letters, digits and -._~!$&'()*+,;=:@ alone")]
    TunnelInvalidByte,
    /// The id is longer than 256 bytes.
    #[error("the tunnel id must hold at most 256 bytes")]
    TunnelTooLong,
}

impl ApiKey {
    /// A key of 1 to 8192 visible ASCII characters.
    ///
    /// # Errors
    ///
    /// What is wrong, without repeating the key.
    pub fn new(key: &str) -> Result<Self, SecretFault> {
        if key.is_empty() {
            return Err(SecretFault::KeyEmpty);
        }
        if key.len() > 8192 {
            return Err(SecretFault::KeyTooLong);
        }
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(SecretFault::KeyInvalidByte);
        }
        let mut authorization = HeaderValue::from_str(&format!("Bearer {key}"))
            .map_err(|_| SecretFault::KeyInvalidByte)?;
        authorization.set_sensitive(true);
        Ok(Self { authorization })
    }

    /// The value of the `Authorization` header, marked as sensitive.
    pub(crate) fn authorization(&self) -> HeaderValue {
        self.authorization.clone()
    }
}

impl TunnelId {
    /// A tunnel id.
    ///
    /// # Errors
    ///
    /// What is wrong, without repeating the id.
    pub fn new(id: &str) -> Result<Self, SecretFault> {
        if id.is_empty() {
            return Err(SecretFault::TunnelEmpty);
        }
        if id.len() > 256 {
            return Err(SecretFault::TunnelTooLong);
        }
        let stands_for_itself =
            |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte);
        // A segment of dots would climb out of the path.
        if !id.bytes().all(stands_for_itself) || id == "." || id == ".." {
            return Err(SecretFault::TunnelInvalidByte);
        }
        Ok(Self(id.to_owned()))
    }

    /// The id itself, for the path of a request. Never log it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

// spec: PRIV-1
impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

impl fmt::Debug for TunnelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TunnelId(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_visible_ascii() {
        assert!(ApiKey::new("sk-abc_123.~").is_ok());
        for (key, fault) in [
            ("", SecretFault::KeyEmpty),
            ("a b", SecretFault::KeyInvalidByte),
            ("a\n", SecretFault::KeyInvalidByte),
            ("ä", SecretFault::KeyInvalidByte),
        ] {
            assert_eq!(ApiKey::new(key).err(), Some(fault));
        }
        assert!(ApiKey::new(&"x".repeat(8192)).is_ok());
        assert_eq!(
            ApiKey::new(&"x".repeat(8193)).err(),
            Some(SecretFault::KeyTooLong)
        );
    }

    #[test]
    fn tunnel_ids_are_one_path_segment() {
        for id in ["t", "tunnel_0123-abc.~", "a:b@c", "...", &"x".repeat(256)] {
            assert!(TunnelId::new(id).is_ok(), "{id}");
        }
        for (id, fault) in [
            ("", SecretFault::TunnelEmpty),
            (".", SecretFault::TunnelInvalidByte),
            ("..", SecretFault::TunnelInvalidByte),
            ("a/b", SecretFault::TunnelInvalidByte),
            ("a\\b", SecretFault::TunnelInvalidByte),
            ("a?b", SecretFault::TunnelInvalidByte),
            ("a#b", SecretFault::TunnelInvalidByte),
            ("a%2fb", SecretFault::TunnelInvalidByte),
            ("a b", SecretFault::TunnelInvalidByte),
            ("ä", SecretFault::TunnelInvalidByte),
            (&"x".repeat(257), SecretFault::TunnelTooLong),
        ] {
            assert_eq!(TunnelId::new(id), Err(fault), "{id}");
        }
    }

    #[test]
    fn secrets_print_nothing() {
        let key = ApiKey::new("sk-secret").unwrap();
        let tunnel = TunnelId::new("secret-tunnel").unwrap();
        assert_eq!(format!("{key:?} {tunnel:?}"), "ApiKey(..) TunnelId(..)");
        assert!(!format!("{:?}", key.authorization()).contains("secret"));
    }
}
