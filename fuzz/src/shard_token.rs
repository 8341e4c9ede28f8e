//! The reader of the replacement header, and what a token shows of itself: nothing.

use moorline_model::wire::{ShardToken, ShardTokenFault};

/// Takes field lines, each with a line feed after it. No bytes are no lines.
pub fn run(data: &[u8]) {
    let lines: Vec<&[u8]> = data
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
        .collect();
    let found = ShardToken::from_lines(lines.iter().copied());
    if let Ok(token) = &found {
        assert_eq!(
            format!("{token:?} {token:#?}"),
            "ShardToken(..) ShardToken(..)"
        );
        assert_eq!(
            ShardToken::from_bytes(token.expose().as_bytes()).as_ref(),
            Ok(token)
        );
    }
    let found = found.map(|token| token.expose().as_bytes().to_owned());
    assert_eq!(found, expected(&lines).map(<[u8]>::to_owned));
}

/// The one value by the rules COR-8 and COR-9, or the first fault.
fn expected<'a>(lines: &[&'a [u8]]) -> Result<&'a [u8], ShardTokenFault> {
    let value = match lines {
        [] => return Err(ShardTokenFault::Missing),
        [only] => only,
        _ => return Err(ShardTokenFault::Repeated),
    };
    match value.len() {
        0 => return Err(ShardTokenFault::Empty),
        1..=4096 => {}
        _ => return Err(ShardTokenFault::TooLong),
    }
    let strange = |byte: &u8| *byte <= 0x20 || *byte >= 0x7f || *byte == 0x2c;
    if value.iter().any(strange) {
        return Err(ShardTokenFault::InvalidByte);
    }
    Ok(value)
}
