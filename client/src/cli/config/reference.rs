//! What stands elsewhere: secrets in variables and files, and files of certificates.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::super::io_fault::why;
use super::given::Environment;

/// The largest file that is read, in bytes: configuration, key or CA bundle.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Reference {
    /// In a variable.
    Variable(String),
    /// In a file.
    File(String),
}

impl Reference {
    /// Reads `env:NAME` or `file:PATH`. `None` for anything else, which may be the secret itself.
    // spec: SET-5
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.split_once(':') {
            Some(("env", name)) if is_variable(name) => Some(Self::Variable(name.to_owned())),
            Some(("file", path)) if !path.is_empty() => Some(Self::File(path.to_owned())),
            _ => None,
        }
    }

    /// Whether a text was meant to be a reference, readable or not.
    pub(super) fn is_meant(text: &str) -> bool {
        text.starts_with("env:") || text.starts_with("file:")
    }

    /// What should stand instead of this text, which is no reference, where `what` must not be given itself.
    pub(super) fn places(text: &str, what: &str) -> String {
        let rule = if text.starts_with("env:") {
            "; NAME holds capital letters, digits and _ alone"
        } else {
            ""
        };
        format!("env:NAME or file:PATH, not {what} itself{rule}")
    }

    /// The text that it stands for, without the white space around it.
    pub(super) fn resolve(&self, what: &str, environment: &Environment) -> Result<String, String> {
        match self {
            Self::Variable(name) => match environment.variable(name) {
                Some(text) => Ok(text.trim().to_owned()),
                None => Err(format!("{what} is missing: set {name}")),
            },
            Self::File(path) => {
                let bytes = read_file(what, Path::new(path))?;
                let text = String::from_utf8(bytes)
                    .map_err(|_| format!("{what}: {path} must hold text"))?;
                Ok(text.trim().to_owned())
            }
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{path}"),
        }
    }
}

/// Whether this looks like the name of a variable, and not like a key in the wrong place.
fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// Reads a file of at most 4 MiB.
pub(super) fn read_file(what: &str, path: &Path) -> Result<Vec<u8>, String> {
    let name = path.display();
    let fault = |why: &dyn fmt::Display| format!("{what} cannot be read from {name}: {why}");
    let file = File::open(path).map_err(|error| fault(&why(&error)))?;
    let mut bytes = Vec::new();
    let most = MAX_FILE_BYTES.saturating_add(1);
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| fault(&why(&error)))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_FILE_BYTES) {
        return Err(fault(&"it is larger than 4 MiB"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_told_from_secrets() {
        for (text, shown) in [
            ("env:API_KEY", Some("env:API_KEY")),
            ("file:/a b", Some("file:/a b")),
            ("env:sk-live", None),
            ("env:", None),
            ("file:", None),
            ("ENV:A", None),
            ("sk-live", None),
            ("", None),
        ] {
            let shown = shown.map(str::to_owned);
            assert_eq!(
                Reference::parse(text).map(|r| r.to_string()),
                shown,
                "{text}"
            );
        }
    }
}
