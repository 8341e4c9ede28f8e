use std::collections::BTreeSet;

use thiserror::Error;

use super::channel::Channel;
use super::json::push_string;

/// The header that tells the service which channels the client serves (lower case).
pub const SERVER_INFO_HEADER: &str = "x-tunnel-mcp-server-info";

/// The most channels that one declaration may hold.
pub const MAX_SERVER_INFO_CHANNELS: usize = 32;

/// The greatest length of a declaration, in bytes. 32 names of 64 bytes stay below it, so that no
/// valid set of channels exceeds it.
pub const MAX_SERVER_INFO_BYTES: usize = 4096;

/// The value of [`SERVER_INFO_HEADER`], version 1: the channels of this client, as compact JSON in
/// visible ASCII.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo(String);

/// Why a list of channels cannot be declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum ServerInfoFault {
    /// Two channels have one name.
    #[error("each channel must be declared once")]
    Repeated,
    /// More than 32 channels.
    #[error("there must be at most 32 channels")]
    TooMany,
}

impl ServerInfo {
    /// Declares channels in the order given, each with whether it has process affinity: a stdio target
    /// has it, a remote HTTP one does not, and then the member is left out.
    ///
    /// # Errors
    ///
    /// A name twice, or more channels than a declaration may hold.
    // spec: CMD-27, CMD-28
    pub fn new(
        channels: impl IntoIterator<Item = (Channel, bool)>,
    ) -> Result<Self, ServerInfoFault> {
        let mut names = BTreeSet::new();
        let mut json = String::from(r#"{"version":1,"channels":["#);
        for (channel, proc_affinity) in channels {
            if names.len() == MAX_SERVER_INFO_CHANNELS {
                return Err(ServerInfoFault::TooMany);
            }
            if !names.is_empty() {
                json.push(',');
            }
            push_channel(&mut json, &channel, proc_affinity);
            if !names.insert(channel) {
                return Err(ServerInfoFault::Repeated);
            }
        }
        json.push_str("]}");
        Ok(Self(json))
    }

    /// The value of the header line.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn push_channel(json: &mut String, channel: &Channel, proc_affinity: bool) {
    json.push_str(r#"{"name":"#);
    push_string(json, channel.as_str());
    if proc_affinity {
        json.push_str(r#","proc_affinity":true"#);
    }
    json.push('}');
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn channel(name: &str) -> Channel {
        Channel::parse(name).unwrap()
    }

    fn numbered(count: usize) -> impl Iterator<Item = (Channel, bool)> {
        (0..count).map(|number| (channel(&format!("{number:0>64}")), true))
    }

    // spec-test: CMD-27
    #[test]
    fn writes_compact_json_and_leaves_false_out() {
        let one = ServerInfo::new([(Channel::main(), true)]).unwrap();
        assert_eq!(
            one.as_str(),
            r#"{"version":1,"channels":[{"name":"main","proc_affinity":true}]}"#
        );
        let two = ServerInfo::new([(channel(" Z_1 "), false), (channel("a-"), true)]).unwrap();
        assert_eq!(
            two.as_str(),
            r#"{"version":1,"channels":[{"name":"z_1"},{"name":"a-","proc_affinity":true}]}"#
        );
        let none = ServerInfo::new([]).unwrap();
        assert_eq!(none.as_str(), r#"{"version":1,"channels":[]}"#);
    }

    // spec-test: CMD-27
    #[test]
    fn holds_its_limits() {
        let most = ServerInfo::new(numbered(32)).unwrap();
        assert!(most.as_str().len() <= MAX_SERVER_INFO_BYTES);
        assert!(most.as_str().bytes().all(|byte| byte.is_ascii_graphic()));
        let json: Value = serde_json::from_str(most.as_str()).unwrap();
        assert_eq!(json["channels"].as_array().unwrap().len(), 32);
        assert_eq!(ServerInfo::new(numbered(33)), Err(ServerInfoFault::TooMany));
    }

    // spec-test: CMD-27
    #[test]
    fn names_each_channel_once_after_its_canonical_form() {
        for affinity in [true, false] {
            let twice = [(channel("main"), true), (channel(" MAIN"), affinity)];
            assert_eq!(ServerInfo::new(twice), Err(ServerInfoFault::Repeated));
        }
    }
}
