//! The members of a sequence as they are written, in the order in which they are written.

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// One sequence.
#[derive(Clone, Debug, Serialize)]
pub(super) struct SequenceText {
    pub(super) format: &'static str,
    pub(super) name: String,
    pub(super) about: String,
    pub(super) covers: Vec<String>,
    pub(super) steps: Vec<StepText>,
}

/// One step.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct StepText {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) begin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) end: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cancel: Option<String>,
    /// The inner `None` is written as `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sends: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<AnswerText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expect: Option<ExpectText>,
}

/// What the service does.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct AnswerText {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<u16>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) headers: Vec<(&'static str, Value)>,
    /// Written as it is, duplicate members included.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_json")]
    pub(super) json: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) framing: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cut_after: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cut_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) transport: Option<&'static str>,
}

/// What holds after a step.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ExpectText {
    pub(super) result: String,
    pub(super) verdict: &'static str,
    pub(super) token: Option<String>,
    pub(super) watermark: Option<u64>,
    pub(super) corrections: u8,
    pub(super) failures: u8,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) commands: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retry_after_ms: Option<u64>,
}

fn as_json<S: Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    let raw = text.clone().map(RawValue::from_string).transpose();
    raw.map_err(S::Error::custom)?.serialize(serializer)
}
