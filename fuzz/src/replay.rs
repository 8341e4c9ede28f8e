//! Runs a target's body over files, without libFuzzer: to look at an input with a debugger, or where
//! no fuzzer can be built.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};

/// The greatest input that is read, in bytes.
pub const INPUT_MAX: u64 = 1 << 20;

/// Runs the body over each file in turn.
///
/// # Errors
///
/// There is no file, or one that cannot be read or is larger than [`INPUT_MAX`].
pub fn files(run: fn(&[u8]), paths: impl IntoIterator<Item = OsString>) -> io::Result<()> {
    let mut count = 0_u32;
    for path in paths {
        let mut input = Vec::new();
        let file = File::open(&path)?;
        file.take(INPUT_MAX + 1).read_to_end(&mut input)?;
        if input.len() as u64 > INPUT_MAX {
            return Err(io::Error::other("an input must have at most 1 MiB"));
        }
        run(&input);
        count = count.saturating_add(1);
    }
    if count == 0 {
        return Err(io::Error::other("name the files to run as arguments"));
    }
    Ok(())
}
