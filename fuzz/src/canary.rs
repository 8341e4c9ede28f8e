//! A target with a planted fault, so that a harness that reports nothing cannot pass for one that
//! finds nothing. It stands three comparisons deep, which blind guessing takes millions of runs to
//! pass and guidance by coverage a few thousand.

/// What every report of the planted fault says.
pub const MESSAGE: &str = "the canary sang";

/// The planted fault shows on inputs that begin with this.
pub const TRIGGER: [u8; 3] = *b"\xc5sg";

/// Panics on inputs that begin with [`TRIGGER`].
pub fn run(data: &[u8]) {
    let [first, second, third] = TRIGGER;
    // One comparison after the other, so that each is a branch of its own.
    if data.first() == Some(&first) && data.get(1) == Some(&second) && data.get(2) == Some(&third) {
        panic!("{MESSAGE}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_trigger_sets_it_off() {
        for quiet in [
            &b""[..],
            b"\xc5",
            b"\xc5s",
            b"\xc5sG",
            b" \xc5sg",
            b"sg\xc5",
        ] {
            run(quiet);
        }
        for loud in [&TRIGGER[..], b"\xc5sg and more"] {
            let found = std::panic::catch_unwind(|| run(loud)).unwrap_err();
            assert_eq!(found.downcast_ref::<String>().unwrap(), MESSAGE);
        }
    }
}
