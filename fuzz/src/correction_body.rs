//! The strict reader of corrections: what it accepts, and which fault it names otherwise, for any
//! body. Held against a second reader that lets `serde_json` cut the body into members.

use moorline_model::wire::parse_correction;

use crate::oracle::correction::correction;

/// The value of the one token line that comes with every body.
pub const TOKEN: &str = "route-a";

/// Takes a body.
pub fn run(data: &[u8]) {
    let found = parse_correction(data, [TOKEN.as_bytes()]).map(|found| {
        assert_eq!(found.token.expose(), TOKEN);
        found.revision.get()
    });
    assert_eq!(found, correction(data, TOKEN));
}
