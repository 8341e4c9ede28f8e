//! The program `moorline-proofs`.

fn main() -> std::process::ExitCode {
    moorline_proofs::cli::main()
}
