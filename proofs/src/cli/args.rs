use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::mutants::source::Shard;

/// Shows that the placement of moorline-model is right, and shows how.
///
/// Start with `check`. Each property that it lists can be seen at work with `trace NAME`, and the
/// whole system can be walked by hand in a browser with `explore`.
#[derive(Debug, Parser)]
#[command(name = "moorline-proofs", version, arg_required_else_help = true)]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Check every property by every method, and print a table.
    ///
    /// Exits 0 if all hold, 1 if one fails (it is named, with a run that breaks it) or could not be
    /// checked, and 2 if the command line is wrong. Takes less than two minutes on two cores.
    ///
    /// The second opinion needs z3 and cvc5; `proofs/install-solvers` installs both.
    Check {
        /// What to check; there is one subject so far.
        #[arg(value_enum, default_value_t = Subject::Placement)]
        subject: Subject,
        /// Print the report as JSON.
        #[arg(long)]
        json: bool,
        /// Leave out the second opinion of the solvers; the report says so.
        #[arg(long)]
        without_solvers: bool,
    },
    /// Measure both explorers on the same system, one after the other.
    ///
    /// Each runs in a process of its own, so that its peak memory can be told. Numbers are of this
    /// machine at this moment.
    Bench {
        /// Requests in flight, 1 to 4.
        #[arg(long, default_value_t = 4, value_name = "K")]
        in_flight: usize,
        /// Revisions that the service knows, 1 to 7.
        #[arg(long, default_value_t = 3, value_name = "N")]
        revisions: u8,
        /// Tokens that the service knows, 1 to 6.
        #[arg(long, default_value_t = 3, value_name = "N")]
        tokens: u8,
        /// Run this one alone, in this process.
        #[arg(long, value_enum)]
        only: Option<Explorer>,
    },
    /// Run wrong steps against every check, and print which checks notice.
    ///
    /// Exits 0 if each is noticed and each check notices one that no other of its method does, or is reviewed; 1
    /// if not. With `--source`, wrong versions of the source are built and tested too: of what decides what an
    /// answer means, and of the client's shell around it. That takes some seconds for each; a part of them is run
    /// with `--shard`.
    Mutants {
        /// Print the report as JSON.
        #[arg(long)]
        json: bool,
        /// Build and test wrong versions of the source too, in a copy under target/mutants.
        #[arg(long)]
        source: bool,
        /// Run part K of N of the wrong sources: those at the places K, K + N, K + 2 N and so on. The same part has
        /// the same mutants in every run. No part may be empty.
        #[arg(
            long,
            value_name = "K/N",
            requires = "source",
            conflicts_with = "judge"
        )]
        shard: Option<Shard>,
        /// Run nothing, but judge what cargo-mutants found: its `mutants.out/outcomes.json`.
        #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "source"])]
        judge: Option<PathBuf>,
    },
    /// Generate sequences for clients to be tested with, from the placement.
    ///
    /// K = 1 and K = 2 are written to fixtures/generated, or with --check compared with the files
    /// there. K = 3 and K = 4 are held against their pinned digests by --check, and written only
    /// where --directory says so. Exits 1 on a difference. The same bytes come out of every run.
    Generate {
        /// Requests in flight, 1 to 4; without it, every K whose sequences are kept (1 and 2).
        #[arg(long, value_name = "K")]
        k: Option<u8>,
        /// Compare, and write nothing.
        #[arg(long)]
        check: bool,
        /// Use this directory in place of fixtures/generated.
        #[arg(long)]
        directory: Option<PathBuf>,
    },
    /// Walk through the states in a browser (stateright's Explorer, on 127.0.0.1).
    Explore {
        /// Requests in flight, 1 to 4.
        #[arg(long, default_value_t = 2, value_name = "K")]
        in_flight: usize,
        /// Revisions that the service knows, 1 to 7.
        #[arg(long, default_value_t = 2, value_name = "N")]
        revisions: u8,
        /// Tokens that the service knows, 1 to 6.
        #[arg(long, default_value_t = 2, value_name = "N")]
        tokens: u8,
        /// The port; 0 takes a free one.
        #[arg(long, default_value_t = 0)]
        port: u16,
    },
    /// Print a run as a Mermaid sequence diagram.
    ///
    /// Names of properties give the shortest run to something that the property speaks of, or that
    /// breaks it. `recovers-within-3k-completed-polls` gives the longest way to a success. Without
    /// a name, lists the names.
    Trace {
        /// The name of a property.
        property: Option<String>,
    },
    /// Say whether the events of a client are a behaviour of the model.
    ///
    /// Reads the lines that `moorline poll --events json` writes, from the start of the process.
    /// Exits 0 if the model can have written them; 1 if not, and shows the first event that it
    /// cannot have written and what it allows there; 2 if the input cannot be read or is no trace.
    Validate {
        /// A file of JSON lines; `-` reads standard input.
        file: PathBuf,
        /// Refuse a run that needs more than K polls in flight. Supposes that no poll was dropped,
        /// as holds for `moorline poll`.
        #[arg(long, value_name = "K")]
        in_flight: Option<NonZeroU64>,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Subject {
    /// The placement: which token the next poll carries.
    Placement,
}

/// Who explores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Explorer {
    /// Ours.
    Own,
    /// stateright's breadth-first search with one thread.
    Stateright,
}
