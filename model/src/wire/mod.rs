//! What the bytes of the protocol mean: strict parsers, one flat error enum each, one variant a
//! fault. No parser panics, recurses with its input, or looks at more than its stated limit.

mod capabilities;
mod command;
mod correction;
mod json;
mod retry_after;
mod revision;
mod scanner;
mod shard_token;

pub use capabilities::{
    CapabilityFault, CapabilitySet, MAX_CAPABILITIES, MAX_CAPABILITY_BYTES,
    MAX_CAPABILITY_NAME_BYTES, WRONG_CLUSTER_V1,
};
pub use command::{Command, CommandFault, CommandToken, Envelope, EnvelopeFault};
pub use correction::{CorrectionFault, parse_correction};
pub use retry_after::{MAX_RETRY_AFTER, RetryAfterFault, parse_retry_after};
pub use revision::{Revision, RevisionFault};
pub use shard_token::{MAX_SHARD_TOKEN_BYTES, ShardToken, ShardTokenFault};
