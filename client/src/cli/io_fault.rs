//! What is wrong with a file, in words for an operator.

use std::io::{Error, ErrorKind};

/// Why a file cannot be used. Where the library's words are of no help, in others.
pub(super) fn why(error: &Error) -> String {
    let words = match error.kind() {
        ErrorKind::NotFound => "no such file",
        ErrorKind::AlreadyExists => "it exists already",
        ErrorKind::IsADirectory => "it is a directory",
        ErrorKind::NotADirectory => "a part of its path is no directory",
        kind => return kind.to_string(),
    };
    words.to_owned()
}
