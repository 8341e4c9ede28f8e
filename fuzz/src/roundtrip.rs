//! Values written as a service may write them, and read again: nothing is lost and nothing is added.

use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

use arbitrary::{Arbitrary, Result, Unstructured};
use moorline_model::placement::Correction;
use moorline_model::wire::{
    CapabilitySet, Command, Envelope, Revision, ShardToken, parse_correction, parse_retry_after,
};

/// Takes one value of one kind, drawn by `arbitrary`. Bytes that give none do nothing.
pub fn run(data: &[u8]) {
    let u = &mut Unstructured::new(data);
    // Bytes that run out end the drawing, which is no finding.
    let _ = match u.int_in_range(0..=4) {
        Ok(0) => correction(u),
        Ok(1) => capabilities(u),
        Ok(2) => seconds(u),
        Ok(3) => date(u),
        _ => envelope(u),
    };
}

fn correction(u: &mut Unstructured<'_>) -> Result<()> {
    let correction = Correction::<Revision, ShardToken>::arbitrary(u)?;
    let token = correction.token.expose();
    let mut members = vec![
        format!("{}:{}", text(u, "code")?, text(u, "wrong_cluster")?),
        format!("{}:{}", text(u, "policy_revision")?, correction.revision),
    ];
    if u.arbitrary()? {
        members.push(format!("{}:{}", text(u, "shard_token")?, text(u, token)?));
    }
    let error = object(u, members)?;
    let members = vec![format!("{}:{error}", text(u, "error")?)];
    let body = object(u, members)?;
    let found = parse_correction(body.as_bytes(), [token.as_bytes()]);
    assert_eq!(found.as_ref(), Ok(&correction), "{body}");
    Ok(())
}

fn capabilities(u: &mut Unstructured<'_>) -> Result<()> {
    let set = CapabilitySet::arbitrary(u)?;
    let value = set.header_value();
    assert_eq!(CapabilitySet::parse([value.as_bytes()]), Ok(set.clone()));
    let lines = value.split(',').map(str::as_bytes);
    assert_eq!(CapabilitySet::parse(lines), Ok(set), "over several lines");
    Ok(())
}

fn seconds(u: &mut Unstructured<'_>) -> Result<()> {
    let seconds: u64 = u.arbitrary()?;
    let zeros: u8 = u.arbitrary()?;
    let value = format!("{}{seconds}", "0".repeat(zeros.into()));
    let wait = Duration::from_secs(seconds.min(60));
    assert_eq!(
        parse_retry_after(value.as_bytes(), u.arbitrary()?),
        Ok(wait)
    );
    Ok(())
}

fn date(u: &mut Unstructured<'_>) -> Result<()> {
    // To the end of the year 9999.
    let date = u.int_in_range(0..=253_402_300_799_u64)?;
    let wait = u.int_in_range(0..=date.min(100))?;
    let value = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(date));
    let found = parse_retry_after(value.as_bytes(), date - wait);
    assert_eq!(found, Ok(Duration::from_secs(wait.min(60))), "{value}");
    Ok(())
}

fn envelope(u: &mut Unstructured<'_>) -> Result<()> {
    let mut commands = Vec::new();
    for _ in 0..u.int_in_range(0..=4)? {
        commands.push(command(u)?);
    }
    let array: Vec<&str> = commands.iter().map(|(_, raw)| &**raw).collect();
    let members = vec![format!("{}:[{}]", text(u, "commands")?, array.join(", "))];
    let body = object(u, members)?;
    let found = Envelope::parse(body.as_bytes()).expect("an envelope");
    assert_eq!((found.commands.len(), found.dropped), (commands.len(), 0));
    for (found, (parts, raw)) in found.commands.iter().zip(&commands) {
        assert_eq!(&parts_of(found), parts, "{raw}");
    }
    Ok(())
}

fn command(u: &mut Unstructured<'_>) -> Result<([String; 3], String)> {
    const NAMES: [&str; 3] = ["request_id", "shard_token", "command_type"];
    let mut parts = <[String; 3]>::default();
    let mut members = vec![format!("{}:{{}}", text(u, "jsonrpc")?)];
    for (name, part) in NAMES.iter().zip(&mut parts) {
        let any: &str = u.arbitrary()?;
        // What every one of these members may be: short, and without control characters.
        *part = any
            .replace(char::is_control, "")
            .chars()
            .take(1000)
            .collect();
        if part.is_empty() {
            part.push('x');
        }
        members.push(format!("{}:{}", text(u, name)?, text(u, part)?));
    }
    Ok((parts, object(u, members)?))
}

fn parts_of(command: &Command) -> [String; 3] {
    [
        command.request_id.clone(),
        command.shard_token.expose().to_owned(),
        command.command_type.clone(),
    ]
}

/// The members in any order, with unknown ones and white space between them.
fn object(u: &mut Unstructured<'_>, mut members: Vec<String>) -> Result<String> {
    const UNKNOWN: [&str; 6] = [
        "\"\":null",
        "\"Error\":[1e999]",
        "\"CODE\":\"\\ud800\"",
        "\"\\udfff\":{\"error\":{}}",
        "\"x\":\"}\\\"{\"",
        "\"x\":[[],{},-0.0e+0]",
    ];
    for _ in 0..u.int_in_range(0..=2)? {
        members.push((*u.choose(&UNKNOWN)?).to_owned());
    }
    let mut body = format!("{}{{", blanks(u)?);
    while !members.is_empty() {
        let next = members.swap_remove(u.choose_index(members.len())?);
        let comma = if members.is_empty() { "" } else { "," };
        body.push_str(&[blanks(u)?, &next, blanks(u)?, comma].concat());
    }
    body.push('}');
    body.push_str(blanks(u)?);
    Ok(body)
}

fn blanks<'a>(u: &mut Unstructured<'_>) -> Result<&'a str> {
    u.choose(&["", "", "", " ", "\n", "\t\r\n "]).copied()
}

/// A JSON string that stands for this text, with escapes here and there.
fn text(u: &mut Unstructured<'_>, text: &str) -> Result<String> {
    let escapes = u.arbitrary::<u8>()?;
    let mut written = "\"".to_owned();
    for (index, c) in text.chars().enumerate() {
        let wanted = escapes.rotate_left((index % 8) as u32) & 1 == 1;
        if wanted || c < ' ' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(written, "\\u{unit:04x}").expect("a string takes any text");
            }
        } else {
            if let '"' | '\\' = c {
                written.push('\\');
            }
            written.push(c);
        }
    }
    written.push('"');
    Ok(written)
}
