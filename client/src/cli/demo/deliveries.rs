//! What the service accepted about commands.

use std::fmt;

use moorline_fixtures::fake::AcceptedResponse;
use serde_json::Value;

/// What the token of every place begins with; its number follows.
const BERTH: &str = "berth-";

/// One notification or answer, as the service accepted it.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    /// The number of its tool call; `None` for one that was never made.
    pub(super) call: Option<u64>,
    /// The number of the place whose token it came with; `None` for a token that was never given.
    pub(super) berth: Option<u64>,
    /// Whether it is the answer.
    pub(super) is_final: bool,
    /// What the tool says.
    pub(super) text: String,
}

impl Delivery {
    pub(super) fn read(response: &AcceptedResponse) -> Self {
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let token = String::from_utf8_lossy(&response.shard_token);
        Self {
            call: number(&response.request_id, CALL),
            berth: number(&token, BERTH),
            is_final: response.resp_type == "jsonrpc_response",
            text: words(&body),
        }
    }
}

/// The token of a place.
pub(super) fn berth(number: u64) -> String {
    format!("{BERTH}{number}")
}

/// What the name of every tool call begins with.
const CALL: &str = "call-";

/// The name of a tool call.
pub(super) fn call(number: u64) -> String {
    format!("{CALL}{number}")
}

/// Whether calls numbered from 1 were answered once each, and all that was said about one came with
/// the token of the place that `berths` has for it.
pub(super) fn each_once_under_its_own_token(deliveries: &[Delivery], berths: &[u64]) -> bool {
    let is_right = |delivery: &Delivery| {
        let place = delivery.call.and_then(|call| call.checked_sub(1));
        let place = place.and_then(|index| berths.get(usize::try_from(index).ok()?));
        place.is_some() && place.copied() == delivery.berth
    };
    let answers = deliveries.iter().filter(|delivery| delivery.is_final);
    let mut answered: Vec<_> = answers.filter_map(|answer| answer.call).collect();
    answered.sort_unstable();
    let all = (1..).take(berths.len());
    deliveries.iter().all(is_right) && answered.into_iter().eq(all)
}

fn number(text: &str, prefix: &str) -> Option<u64> {
    text.strip_prefix(prefix)?.parse().ok()
}

/// The toy's own words; empty for anything else.
fn words(body: &Value) -> String {
    let part = |path: &str| body.pointer(path);
    if let Some(Value::String(text)) = part("/resp_json/result/content/0/text") {
        return text.clone();
    }
    match (
        part("/resp_json/params/progress"),
        part("/resp_json/params/total"),
    ) {
        (Some(step), Some(total)) => format!("step {step} of {total}"),
        _ => String::new(),
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.call {
            Some(call) => write!(f, "call {call}: {}", self.text),
            None => f.write_str("no call of ours"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(call: u64, berth: u64, is_final: bool) -> Delivery {
        Delivery {
            call: Some(call),
            berth: Some(berth),
            is_final,
            text: String::new(),
        }
    }

    #[test]
    fn a_missing_a_second_and_a_misdirected_answer_are_noticed() {
        let right = [
            delivery(2, 1, false),
            delivery(3, 2, true),
            delivery(1, 1, true),
            delivery(2, 1, true),
        ];
        let holds = |deliveries: &[Delivery]| each_once_under_its_own_token(deliveries, &[1, 1, 2]);
        assert!(holds(&right));
        assert!(!holds(&right[..3]), "one is missing");
        for wrong in [
            delivery(2, 1, true),
            delivery(2, 2, false),
            delivery(4, 1, false),
            delivery(0, 1, false),
            Delivery {
                berth: None,
                ..delivery(1, 1, false)
            },
        ] {
            assert!(!holds(&[&right[..], &[wrong]].concat()));
        }
    }
}
