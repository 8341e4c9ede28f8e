//! What the bytes of the protocol mean: strict parsers, one flat error enum each, one variant a
//! fault. No parser panics, recurses with its input, or looks at more than its stated limit.

mod answer;
mod capabilities;
mod channel;
mod command;
mod command_headers;
mod correction;
pub(crate) mod json;
pub(crate) mod member;
mod response_timeout;
mod retry_after;
mod revision;
mod scanner;
mod server_info;
mod shard_token;
mod tunnel_failure;

pub use answer::{ResponseBody, ResponseType};
pub use capabilities::{
    CapabilityFault, CapabilitySet, MAX_CAPABILITIES, MAX_CAPABILITY_BYTES,
    MAX_CAPABILITY_NAME_BYTES, WRONG_CLUSTER_V1,
};
pub use channel::{Channel, ChannelFault, MAX_CHANNEL_BYTES};
pub use command::{
    Command, CommandFault, CommandKind, CommandToken, Envelope, EnvelopeFault,
    MAX_COMMAND_TOKEN_BYTES, MAX_LOGGED_REQUEST_ID_BYTES, MAX_LOGGED_TEXT_BYTES,
    MAX_REQUEST_ID_BYTES, Receipt,
};
pub use command_headers::{MAX_COMMAND_HEADER_BYTES, MAX_COMMAND_HEADERS};
pub use correction::{CorrectionFault, parse_correction};
pub use response_timeout::parse_response_timeout;
pub use retry_after::{MAX_RETRY_AFTER, RetryAfterFault, parse_retry_after};
pub use revision::{Revision, RevisionFault};
pub use server_info::{
    MAX_SERVER_INFO_BYTES, MAX_SERVER_INFO_CHANNELS, SERVER_INFO_HEADER, ServerInfo,
    ServerInfoFault,
};
pub use shard_token::{MAX_SHARD_TOKEN_BYTES, ShardToken, ShardTokenFault};
pub use tunnel_failure::{FailureSource, TUNNEL_FAILURE_CODE, TunnelFailure};

pub(crate) use capabilities::is_token_byte;
pub(crate) use command::is_header_value;
