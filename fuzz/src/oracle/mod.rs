//! Second opinions: what the targets hold the product against. Written from the requirements alone,
//! in another way than the product, and as plainly as possible; speed does not matter much here.

pub(crate) mod answer;
pub(crate) mod correction;
pub(crate) mod date;
pub(crate) mod delivery;
pub(crate) mod event_stream;
pub(crate) mod json;
pub(crate) mod jsonrpc;
pub(crate) mod pipe;
pub(crate) mod placement;
