//! The rules of corrections, checked one after the other.

use moorline_model::wire::CorrectionFault as Fault;

use super::json::{JsonString, all, is_json, members, string};

/// The revision of a correction whose one token line is `token`, or the fault that is found first.
pub(crate) fn correction(body: &[u8], token: &str) -> Result<u64, Fault> {
    let text = std::str::from_utf8(body).map_err(|_| Fault::NotUtf8)?;
    if !is_json(text) {
        return Err(Fault::NotJson);
    }
    let body = members(text).ok_or(Fault::NotAnObject)?;
    let error = match *all(&body, "error") {
        [] => return Err(Fault::ErrorMissing),
        [only] => members(only).ok_or(Fault::ErrorNotAnObject)?,
        _ => return Err(Fault::ErrorRepeated),
    };
    let codes = all(&error, "code");
    let revisions = all(&error, "policy_revision");
    let copies = all(&error, "shard_token");
    for (values, fault) in [
        (&codes, Fault::CodeRepeated),
        (&revisions, Fault::RevisionRepeated),
        (&copies, Fault::BodyTokenRepeated),
    ] {
        if values.len() > 1 {
            return Err(fault);
        }
    }
    let text = |text: &str| Some(JsonString::Text(text.to_owned()));
    match codes.first() {
        None => return Err(Fault::CodeMissing),
        Some(code) if string(code) != text("wrong_cluster") => return Err(Fault::CodeOther),
        Some(_) => {}
    }
    let revision = revision(revisions.first().ok_or(Fault::RevisionMissing)?)?;
    match copies.first().map(|copy| string(copy)) {
        Some(None) => Err(Fault::BodyTokenNotAString),
        Some(copy) if copy != text(token) => Err(Fault::BodyTokenDiffers),
        _ => Ok(revision),
    }
}

fn revision(raw: &str) -> Result<u64, Fault> {
    let plain = raw == "0" || (raw.len() <= 16 && raw.starts_with(|c| ('1'..='9').contains(&c)));
    if !plain || raw.contains(|c: char| !c.is_ascii_digit()) {
        return Err(Fault::RevisionNotAnInteger);
    }
    match raw.parse() {
        Ok(number) if number < 1 << 53 => Ok(number),
        _ => Err(Fault::RevisionTooLarge),
    }
}
