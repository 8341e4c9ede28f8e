//! The `moorline` program; see `moorline --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    moorline::cli::main()
}
