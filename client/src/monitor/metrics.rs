//! The numbers as Prometheus reads them. Labels hold fixed words alone.

use std::fmt;
use std::time::SystemTime;

use moorline_model::readiness::{Level, Target};
use moorline_model::wire::Revision;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabelSet, EncodeMetric, MetricEncoder, NoLabelSet, prometheus_text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use super::view::{Snapshot, seconds};
use crate::telemetry::{Durations, TargetFacts};

pub(super) const CONTENT_TYPE: &str = prometheus_text::CONTENT_TYPE;

/// All metrics at one moment.
pub(super) fn text(snapshot: Snapshot) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(snapshot));
    let mut text = String::new();
    prometheus_text::encode(&mut text, &registry)?;
    Ok(text)
}

impl Collector for Snapshot {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut sheet = Sheet { encoder };
        self.process(&mut sheet)?;
        self.readiness(&mut sheet)?;
        self.placement(&mut sheet)?;
        self.polls(&mut sheet)?;
        self.commands(&mut sheet)?;
        self.deliveries(&mut sheet)?;
        self.durations(&mut sheet)?;
        self.targets(&mut sheet)
    }
}

/// The names are `moorline_` and a thing, but for two that OpenTelemetry names: the attributes of
/// the resource, and `process.uptime`. Durations do not have OpenTelemetry's names, for they are not
/// what those stand for: `http.client.request.duration` must say the host, and
/// `mcp.client.operation.duration` the method, and neither includes the time in the queue. Their
/// bounds, their unit and the label `error_type` are as OpenTelemetry has them.
impl Snapshot {
    fn process(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let labels = [
            ("service_name", "moorline"),
            ("service_version", env!("CARGO_PKG_VERSION")),
        ];
        sheet.labelled("target_info", "What this process is", &labels)?;
        let help = "How long ago the client was made";
        sheet.seconds("process_uptime", help, Some(seconds(self.uptime)))
    }

    fn readiness(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let ready = u64::from(self.level.is_ready());
        sheet.gauge("moorline_ready", "Whether the client is ready", Some(ready))?;
        let levels = Level::ALL.map(|level| (level.name(), u64::from(level == self.level)));
        let help = "1 for the level that the client has";
        sheet.gauges("moorline_level", help, "level", &levels)?;
        let draining = u64::from(self.facts.draining_since.is_some());
        let help = "Whether the client takes no more commands";
        sheet.gauge("moorline_draining", help, Some(draining))
    }

    fn placement(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let placed = &self.placed;
        for (name, help, value) in [
            (
                "moorline_placement_watermark",
                "The greatest committed policy revision, once there is one",
                placed.watermark.map(Revision::get),
            ),
            (
                "moorline_placement_has_token",
                "Whether the next poll carries a token",
                Some(u64::from(placed.has_token)),
            ),
            (
                "moorline_placement_corrections",
                "Corrections since the last success, 0 to 2",
                Some(u64::from(placed.corrections)),
            ),
            (
                "moorline_placement_failures",
                "Failures of the active token, 0 to 2",
                Some(u64::from(placed.failures)),
            ),
            (
                "moorline_placement_generation",
                "State-bearing results committed",
                Some(placed.generation.get()),
            ),
        ] {
            sheet.gauge(name, help, value)?;
        }
        Ok(())
    }

    fn polls(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let polls = &self.facts.polls;
        let counted = [polls.succeeded, polls.corrections, polls.failures];
        let other = counted.into_iter().fold(polls.ended, u64::saturating_sub);
        let outcomes = [
            ("success", polls.succeeded),
            ("correction", polls.corrections),
            ("destination_failure", polls.failures),
            ("other", other),
        ];
        sheet.counters("moorline_polls", "Polls that ended", "outcome", &outcomes)?;
        let under_way = count(self.under_way.polls);
        let help = "Polls that wait for their answers";
        sheet.gauge("moorline_polls_under_way", help, Some(under_way))?;
        let help = "How long the service may hold the next poll";
        sheet.seconds("moorline_poll_wait", help, Some(seconds(self.poll_wait)))?;
        let last = self.unix_time(polls.last_at);
        sheet.seconds(
            "moorline_last_poll_timestamp",
            "When the last poll ended",
            last,
        )?;
        let help = "When the last successful poll ended";
        let last = self.unix_time(polls.last_success_at);
        sheet.seconds("moorline_last_successful_poll_timestamp", help, last)
    }

    fn commands(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let commands = &self.facts.commands;
        let help = "Commands that polls brought and that could be read";
        sheet.counter("moorline_commands_received", help, commands.received)?;
        let results = [
            ("answered", commands.answered),
            ("failed", commands.failed),
            ("cancelled", commands.cancelled),
            ("expired", commands.expired),
            ("repeated", commands.repeated),
            ("skipped", commands.skipped),
            ("unreadable", commands.unreadable),
        ];
        let help = "What became of commands";
        sheet.counters("moorline_commands", help, "result", &results)?;
        let queued = count(commands.queued);
        sheet.gauge(
            "moorline_commands_queued",
            "Commands that wait",
            Some(queued),
        )?;
        let running = count(commands.running);
        sheet.gauge(
            "moorline_commands_running",
            "Commands that run",
            Some(running),
        )?;
        let limits = self.facts.limits;
        let queue = limits.map(|limits| count(limits.queue));
        let help = "Commands that may wait before polls stop";
        sheet.gauge("moorline_commands_queued_limit", help, queue)?;
        let concurrency = limits.map(|limits| count(limits.concurrency.get()));
        let help = "Commands that may run at once";
        sheet.gauge("moorline_commands_running_limit", help, concurrency)?;
        let last = self.unix_time(commands.last_at);
        let help = "When the last command was received";
        sheet.seconds("moorline_last_command_timestamp", help, last)
    }

    fn deliveries(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let deliveries = &self.facts.deliveries;
        let results = [
            ("accepted", deliveries.accepted),
            ("already_fulfilled", deliveries.already_fulfilled),
            ("given_up", deliveries.given_up),
        ];
        let help = "What became of final responses";
        sheet.counters("moorline_deliveries", help, "result", &results)?;
        let results = [
            ("accepted", deliveries.notifications),
            ("lost", deliveries.notifications_lost),
        ];
        let help = "What became of notifications";
        sheet.counters("moorline_notifications", help, "result", &results)?;
        let help = "Second and third attempts to deliver";
        sheet.counter("moorline_delivery_retries", help, deliveries.retries)?;
        let last = self.unix_time(deliveries.last_at);
        let help = "When the last delivery was accepted";
        sheet.seconds("moorline_last_delivery_timestamp", help, last)
    }

    fn durations(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let took = &self.facts.took;
        let polls = took.polls.iter();
        let polls = polls.map(|(word, durations)| (vec![("outcome", *word)], *durations));
        let help = "How long polls took, the time that the service held them included";
        sheet.histograms("moorline_poll_duration", help, polls)?;
        let commands = took.commands.iter().map(by_error);
        let help = "How long commands took, from their receipt to their accepted answer";
        sheet.histograms("moorline_command_duration", help, commands)?;
        let deliveries = took.deliveries.iter().map(by_error);
        let help = "How long answers took to be delivered, with all attempts";
        sheet.histograms("moorline_delivery_duration", help, deliveries)
    }

    fn targets(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let of_each = |number: fn(&TargetFacts) -> Option<u64>| -> Vec<(&str, u64)> {
            let targets = self.facts.targets.iter();
            targets
                .filter_map(|(channel, target)| Some((channel.as_str(), number(target)?)))
                .collect()
        };
        let up = of_each(|target| match target.health.state() {
            Target::Unknown => None,
            Target::Up { .. } => Some(1),
            Target::Down { .. } => Some(0),
        });
        let help = "Whether the target of a channel answers, once it was asked";
        sheet.gauges("moorline_target_up", help, "channel", &up)?;
        let failures = of_each(|target| Some(target.health.failures()));
        let help = "Calls in a row that the target of a channel did not answer";
        sheet.gauges("moorline_target_failures", help, "channel", &failures)?;
        let restarts = of_each(|target| Some(target.restarts));
        let help = "Child processes of a channel that were started again";
        sheet.counters("moorline_target_restarts", help, "channel", &restarts)
    }

    /// Seconds since 1970 of a moment of the facts.
    fn unix_time(&self, at: Option<std::time::Duration>) -> Option<f64> {
        let at = self.wall_clock(at?);
        let since_1970 = at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some(since_1970.as_secs_f64())
    }
}

type Labels = Vec<(&'static str, &'static str)>;

/// What went well has no label.
fn by_error((word, durations): (&Option<&'static str>, &Durations)) -> (Labels, Durations) {
    let labels = word.map(|word| ("error_type", word));
    (labels.into_iter().collect(), *durations)
}

impl EncodeMetric for Durations {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let bands: Vec<_> = self
            .bands()
            .map(|(bound, count)| (bound.as_secs_f64(), count))
            .collect();
        let sum = self.sum().as_secs_f64();
        encoder.encode_histogram::<NoLabelSet>(sum, self.count(), &bands, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

/// Metrics being written. A value that is not known leaves its metric out.
struct Sheet<'a> {
    encoder: DescriptorEncoder<'a>,
}

impl Sheet<'_> {
    fn gauge(&mut self, name: &str, help: &str, value: Option<u64>) -> fmt::Result {
        value.map_or(Ok(()), |value| {
            self.write(name, help, None, &ConstGauge::new(value))
        })
    }

    fn seconds(&mut self, name: &str, help: &str, value: Option<f64>) -> fmt::Result {
        value.map_or(Ok(()), |value| {
            self.write(name, help, Some(&Unit::Seconds), &ConstGauge::new(value))
        })
    }

    /// The encoder adds `_total` to the name.
    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.write(name, help, None, &ConstCounter::new(value))
    }

    /// One number for each value of a label.
    fn gauges(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: &[(&str, u64)],
    ) -> fmt::Result {
        let values = values
            .iter()
            .map(|(word, value)| ([(label, *word)], ConstGauge::new(*value)));
        self.write_family(name, help, None, values)
    }

    /// One count for each value of a label. The encoder adds `_total` to the name.
    fn counters(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: &[(&str, u64)],
    ) -> fmt::Result {
        let values = values
            .iter()
            .map(|(word, value)| ([(label, *word)], ConstCounter::new(*value)));
        self.write_family(name, help, None, values)
    }

    /// Durations in seconds for each set of labels.
    fn histograms(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, Durations)>,
    ) -> fmt::Result {
        self.write_family(name, help, Some(&Unit::Seconds), values)
    }

    /// A 1 that is there for its labels.
    fn labelled<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        labels: &[(&str, &str); N],
    ) -> fmt::Result {
        self.write_family(name, help, None, [(*labels, ConstGauge::new(1_u64))])
    }

    fn write(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        metric: &impl EncodeMetric,
    ) -> fmt::Result {
        let kind = metric.metric_type();
        let encoder = self.encoder.encode_descriptor(name, help, unit, kind)?;
        metric.encode(encoder)
    }

    fn write_family<L: EncodeLabelSet, M: EncodeMetric>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        values: impl IntoIterator<Item = (L, M)>,
    ) -> fmt::Result {
        let mut values = values.into_iter().peekable();
        let Some((_, first)) = values.peek() else {
            return Ok(());
        };
        let kind = first.metric_type();
        let mut encoder = self.encoder.encode_descriptor(name, help, unit, kind)?;
        for (labels, metric) in values {
            metric.encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
