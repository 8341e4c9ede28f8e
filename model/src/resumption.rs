//! When the stream that answers a call is asked for again. A server may end it before the answer as soon
//! as it has sent an event with an id (MCP of 2025-11-25): the call still runs, and a GET that names that
//! id brings what is left. The call itself is never sent twice.

use std::time::Duration;

use crate::sse::EventStream;
use crate::target::{STREAM_WITHOUT_ANSWER, by_status};
use crate::wire::{FailureSource, TunnelFailure, is_header_value};

/// The `Accept` of the GET of a stream.
pub const STREAM_ACCEPT: &str = "text/event-stream";

/// The least time before a stream is asked for again.
pub const MIN_WAIT: Duration = Duration::from_millis(100);

/// The greatest time before a stream is asked for again, unless the server asks for a longer one.
pub const MAX_WAIT: Duration = Duration::from_secs(10);

/// How often in a row a stream is asked for from the same place.
pub const MAX_FRUITLESS: u32 = 5;

/// How far the stream of one call has come.
#[derive(Clone, Debug, Default)]
pub struct Resumption {
    from: String,
    fruitless: u32,
}

/// How to ask for a stream again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume<'a> {
    /// How long to wait before.
    pub wait: Duration,
    /// The id of the last event that arrived whole, to be sent as `Last-Event-ID`.
    pub last_event_id: &'a str,
}

/// Why a stream that was asked for again did not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The server may be able to give it later.
    ForNow(TunnelFailure),
    /// There is no use in asking again.
    ForGood(TunnelFailure),
}

impl Resumption {
    /// How to go on after the stream has ended, or could not be had, for the reason `failure`. The wait
    /// is what the server asked for, and at least [`MIN_WAIT`]; it is doubled, up to [`MAX_WAIT`], each
    /// time that nothing new came.
    ///
    /// # Errors
    ///
    /// The failure of the call: there was no id from which to go on, or nothing new came
    /// [`MAX_FRUITLESS`] times in a row.
    // spec: CMD-40, CMD-41
    pub fn after(
        &mut self,
        stream: &EventStream,
        failure: TunnelFailure,
    ) -> Result<Resume<'_>, TunnelFailure> {
        let failure = of_the_call(failure);
        let id = stream.last_event_id().unwrap_or_default();
        if id.is_empty() || !is_header_value(id.as_bytes()) {
            return Err(failure);
        }
        if id == self.from {
            self.fruitless = self.fruitless.saturating_add(1);
        } else {
            id.clone_into(&mut self.from);
            self.fruitless = 0;
        }
        if self.fruitless >= MAX_FRUITLESS {
            return Err(failure);
        }
        Ok(Resume {
            wait: self.wait(stream.retry()),
            last_event_id: &self.from,
        })
    }

    fn wait(&self, retry: Option<Duration>) -> Duration {
        let asked = retry.unwrap_or_default().max(MIN_WAIT);
        let factor = 2_u32.saturating_pow(self.fruitless);
        asked.saturating_mul(factor).min(MAX_WAIT).max(asked)
    }
}

/// What broke off is the stream of a call that the server has: a GET that does not get through says no
/// more than that.
fn of_the_call(failure: TunnelFailure) -> TunnelFailure {
    let source = if failure.upstream_response_received {
        failure.source
    } else {
        FailureSource::TransportClosed
    };
    TunnelFailure {
        source,
        upstream_response_received: true,
        ..failure
    }
}

/// Judges the head of the answer to the GET of a stream.
///
/// # Errors
///
/// It is no stream. A server that cannot answer for the moment may later on; any other does not keep
/// the stream, and the call ends as if there had been no id.
// spec: CMD-40
pub fn judge_resumed(status: u16, is_event_stream: bool) -> Result<(), Refusal> {
    match status {
        _ if is_event_stream => Ok(()),
        429 | 500..=599 => Err(Refusal::ForNow(by_status(status, NOT_NOW))),
        _ => Err(Refusal::ForGood(STREAM_WITHOUT_ANSWER)),
    }
}

const NOT_NOW: TunnelFailure = TunnelFailure {
    source: FailureSource::Protocol,
    transport_error_kind: None,
    upstream_response_received: true,
};

#[cfg(test)]
mod tests {
    use super::*;

    const LOST: TunnelFailure = TunnelFailure {
        source: FailureSource::Connect,
        transport_error_kind: Some("connection_refused"),
        upstream_response_received: false,
    };

    /// What `after` says when the server has said this, in milliseconds; the failure is always the call's.
    fn after(resumption: &mut Resumption, stream: &EventStream) -> Option<(u128, String)> {
        match resumption.after(stream, LOST) {
            Ok(resume) => Some((resume.wait.as_millis(), resume.last_event_id.to_owned())),
            Err(failure) => {
                assert!(failure.upstream_response_received);
                assert_eq!(failure.source, FailureSource::TransportClosed);
                assert_eq!(failure.transport_error_kind, LOST.transport_error_kind);
                None
            }
        }
    }

    fn said(text: &str) -> EventStream {
        let mut stream = EventStream::new(1_000);
        stream.push(text.as_bytes(), &mut Vec::new()).unwrap();
        stream
    }

    // spec-test: CMD-40
    #[test]
    fn a_stream_goes_on_from_its_last_id_and_fails_without_one() {
        for text in [
            "",
            "data: a\n\n",
            "id: 1\n",
            "id: 1\n\nid\n\n",
            "id: a\u{1}\n\n",
        ] {
            assert_eq!(
                after(&mut Resumption::default(), &said(text)),
                None,
                "{text:?}"
            );
        }
        let whole_events = said("id: 1\ndata: a\n\nid: 2\n\nid: 3\ndata: b");
        let goes_on = after(&mut Resumption::default(), &whole_events);
        assert_eq!(goes_on, Some((100, "2".to_owned())));
    }

    // spec-test: CMD-41
    #[test]
    fn waits_as_the_server_asks_and_longer_while_nothing_new_comes() {
        for (retry, waits) in [
            ("0", [100, 200, 400, 800, 1_600]),
            ("3000", [3_000, 6_000, 10_000, 10_000, 10_000]),
            ("60000", [60_000; 5]),
        ] {
            let mut resumption = Resumption::default();
            let mut stream = said(&format!("id: 1\nretry: {retry}\n\n"));
            for wait in waits {
                let goes_on = after(&mut resumption, &stream);
                assert_eq!(goes_on, Some((wait, "1".to_owned())), "{retry}");
            }
            assert_eq!(after(&mut resumption, &stream), None, "{retry}: for ever");
            stream.push(b"id: 2\n\n", &mut Vec::new()).unwrap();
            let goes_on = after(&mut resumption, &stream);
            assert_eq!(goes_on, Some((waits[0], "2".to_owned())), "{retry}");
        }
    }

    // spec-test: CMD-40
    #[test]
    fn only_a_stream_goes_on_and_only_a_server_in_trouble_is_asked_again() {
        assert_eq!(judge_resumed(200, true), Ok(()));
        for status in [200, 204, 302, 400, 401, 404, 405] {
            let refused = Err(Refusal::ForGood(STREAM_WITHOUT_ANSWER));
            assert_eq!(judge_resumed(status, false), refused, "{status}");
        }
        for status in [429, 500, 503] {
            let Err(Refusal::ForNow(failure)) = judge_resumed(status, false) else {
                panic!("{status}");
            };
            assert_eq!(failure.upstream_status(), Some(status));
        }
    }
}
