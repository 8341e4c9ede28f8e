//! Which requirements a sequence exercises.

use moorline_model::placement::Verdict;

/// The requirements that speak of these verdicts.
pub(super) fn requirements(verdicts: &[Verdict]) -> Vec<String> {
    let mut numbers = vec![3];
    for verdict in verdicts {
        numbers.extend(requirements_of(*verdict));
        if verdict.committed() {
            numbers.push(4);
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    numbers
        .iter()
        .map(|number| format!("PLC-{number}"))
        .collect()
}

fn requirements_of(verdict: Verdict) -> &'static [u8] {
    match verdict {
        Verdict::Cancelled => &[20],
        Verdict::Conflicted => &[11, 13],
        Verdict::Evicted => &[17, 21],
        Verdict::FailureCounted => &[16],
        Verdict::Installed => &[9, 13],
        Verdict::Late => &[5, 6],
        Verdict::Neutral => &[19],
        Verdict::Restored => &[10, 13],
        Verdict::RoundExhausted => &[13, 14, 15, 21],
        Verdict::StaleRevision => &[12, 13],
        Verdict::Success => &[7, 8],
        Verdict::TokenlessFailure => &[18],
    }
}
