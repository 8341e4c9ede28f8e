//! Which form of an answer comes next.

use std::collections::BTreeMap;

use super::forms::{self, Form};
use super::graph::Answer;

/// Whose turn it is. One turn for all sequences, so that every form comes up.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// How often each form was played.
    pub(super) played: BTreeMap<&'static str, u64>,
    next: BTreeMap<Answer, usize>,
    /// Forms that could not be played when it was their turn.
    owed: BTreeMap<Answer, Vec<usize>>,
    deadlines: usize,
}

impl Turns {
    /// The next form that waits for the deadline.
    pub(super) fn wait(&mut self) -> Option<Form> {
        let forms = forms::deadlines();
        let place = self.deadlines % forms.len();
        self.deadlines += 1;
        forms.get(place).cloned()
    }

    /// The next form that can be played here. What cannot is made up for where it can. Each kind of
    /// correction takes turns of its own, so that each comes in every form.
    pub(super) fn take(&mut self, answer: Answer, forms: &[Form], alone: bool) -> Option<Form> {
        let owed = self.owed.entry(answer).or_default();
        if alone && let Some(place) = owed.pop() {
            return forms.get(place).cloned();
        }
        let next = self.next.entry(answer).or_default();
        for _ in forms {
            let place = *next % forms.len();
            *next += 1;
            match forms.get(place) {
                Some(form) if form.alone && !alone => owed.push(place),
                form => return form.cloned(),
            }
        }
        None
    }
}
