//! Wrong versions of the texts. Each must be refused by the goals that it names, which shows that those
//! goals say something.

use super::SmtError;
use super::texts::Texts;

/// How many mutants there are.
pub const MUTANT_COUNT: usize = 46;
/// How many of them change the step.
pub const STEP_MUTANT_COUNT: usize = 41;

/// One wrong version of one text.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Its name.
    pub name: &'static str,
    /// The text that is changed.
    pub text: Text,
    /// What stands there, exactly once.
    pub from: &'static str,
    /// What stands there instead.
    pub to: &'static str,
    /// Goals that must not hold any more.
    pub killers: &'static [&'static str],
}

/// One of the three texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// The claims.
    Goals,
    /// The data, the beginning, snapshots and the invariants.
    State,
    /// The step.
    Step,
}

impl Mutant {
    /// The committed texts with this one change.
    ///
    /// # Errors
    ///
    /// [`SmtError::Malformed`] where the place to change is not there exactly once, or the change is none.
    pub fn texts(&self) -> Result<Texts, SmtError> {
        let mut texts = Texts::committed();
        let text = match self.text {
            Text::Goals => &mut texts.goals,
            Text::State => &mut texts.state,
            Text::Step => &mut texts.step,
        };
        if text.matches(self.from).count() != 1 {
            return Err(self.malformed("what it replaces is not there exactly once"));
        }
        if self.from == self.to {
            return Err(self.malformed("it changes nothing"));
        }
        *text = text.replace(self.from, self.to);
        Ok(texts)
    }

    fn malformed(&self, problem: &'static str) -> SmtError {
        SmtError::Malformed {
            name: self.name.to_owned(),
            problem,
        }
    }
}

/// Those that change the step.
pub fn of_the_step() -> impl Iterator<Item = &'static Mutant> {
    MUTANTS.iter().filter(|mutant| mutant.text == Text::Step)
}

const fn step(
    name: &'static str,
    from: &'static str,
    to: &'static str,
    killers: &'static [&'static str],
) -> Mutant {
    Mutant {
        name,
        text: Text::Step,
        from,
        to,
        killers,
    }
}

/// Every mutant.
pub const MUTANTS: &[Mutant] = &[
    // The fence.
    step(
        "fence-dropped",
        "  (and (bears-state a o)\n       (= (taken a) (generation s))))",
        "  (bears-state a o))",
        &["row-late", "generation-rises-by-one-on-commit"],
    ),
    step(
        "fence-dropped-for-failures",
        "       (= (taken a) (generation s))))",
        "       (or ((_ is failure) o) (= (taken a) (generation s)))))",
        &["row-late", "failures-imply-an-active-token"],
    ),
    step(
        "fence-lets-older-through",
        "       (= (taken a) (generation s))))",
        "       (bvule (taken a) (generation s))))",
        &["row-late", "recovery-rank-falls-on-a-late-result"],
    ),
    step(
        "generation-stays",
        "(bvadd (generation s) #x0000000000000001)",
        "(generation s)",
        &[
            "generation-rises-by-one-on-commit",
            "current-attempts-carry-the-active-token",
        ],
    ),
    step(
        "generation-by-two",
        "(bvadd (generation s) #x0000000000000001)",
        "(bvadd (generation s) #x0000000000000002)",
        &["generation-rises-by-one-on-commit"],
    ),
    // What bears state.
    step(
        "tokenless-failure-counted",
        "      (and ((_ is failure) o) ((_ is carrying) (carries a)))))",
        "      ((_ is failure) o)))",
        &["row-failure-tokenless", "failures-imply-an-active-token"],
    ),
    step(
        "failure-ignored",
        "      (and ((_ is failure) o) ((_ is carrying) (carries a)))))",
        "      false))",
        &["row-failure-with-token", "third-failure-clears"],
    ),
    step(
        "neutral-advances-generation",
        "  (or ((_ is success) o)\n",
        "  (or ((_ is success) o) ((_ is neutral) o)\n",
        &["row-neutral", "at-most-three-failures-count"],
    ),
    step(
        "cancelled-commits",
        "  (or ((_ is success) o)\n",
        "  (or ((_ is success) o) ((_ is cancelled) o)\n",
        &["row-cancelled"],
    ),
    step(
        "success-ignored",
        "  (or ((_ is success) o)\n      ((_ is correction) o)",
        "  (or ((_ is correction) o)",
        &["row-success"],
    ),
    // How revisions and tokens compare.
    step(
        "equal-revision-installs",
        "(bvult (revision (mark s)) (told o))",
        "(bvule (revision (mark s)) (told o))",
        &[
            "row-correction-equal-other",
            "one-accepted-token-per-watermark",
            "conflict-clears",
        ],
    ),
    step(
        "order-reversed",
        "(bvult (revision (mark s)) (told o))",
        "(bvult (told o) (revision (mark s)))",
        &["row-correction-newer", "watermark-never-falls"],
    ),
    step(
        "revisions-signed",
        "(bvult (revision (mark s)) (told o))",
        "(bvslt (revision (mark s)) (told o))",
        &["row-correction-newer", "watermark-never-falls"],
    ),
    step(
        "any-revision-installs",
        "(bvult (revision (mark s)) (told o))",
        "true",
        &[
            "no-recovery-by-what-is-not-newer",
            "greatest-revision-shuts-the-door",
        ],
    ),
    step(
        "first-correction-not-installed",
        "  (or ((_ is unknown) (mark s))\n      (bvult (revision (mark s)) (told o))))",
        "  (and ((_ is known) (mark s))\n      (bvult (revision (mark s)) (told o))))",
        &["row-correction-first", "corrections-imply-a-watermark"],
    ),
    step(
        "token-not-compared",
        "(= (accepted (mark s)) (offered o)))",
        "true)",
        &["row-correction-equal-other", "conflict-clears"],
    ),
    // Success.
    step(
        "success-keeps-failures",
        "  #x00)))\n\n; Column \"corrections\"",
        "  (failures s))))\n\n; Column \"corrections\"",
        &["row-success", "at-most-three-failures-count"],
    ),
    step(
        "success-keeps-corrections",
        "  #x00)))\n\n; Column \"token and watermark\": the watermark",
        "  (corrections s))))\n\n; Column \"token and watermark\": the watermark",
        &["row-success"],
    ),
    step(
        "success-clears-token",
        "  (active s))))\n\n; The row as a whole",
        "  tokenless)))\n\n; The row as a whole",
        &[
            "success-teaches-nothing",
            "clears-only-on-third-or-conflict",
        ],
    ),
    // Corrections.
    step(
        "correction-keeps-failures",
        "  (ite ((_ is correction) o) #x00\n",
        "  (ite ((_ is correction) o) (failures s)\n",
        &["row-correction-newer", "failures-imply-an-active-token"],
    ),
    step(
        "older-correction-not-counted",
        "  (ite (third-correction s) #x00 (bvadd (corrections s) #x01)))",
        "  (ite (or (leads s o) (equals s o))\n       (ite (third-correction s) #x00 (bvadd (corrections s) #x01)) (corrections s)))",
        &["row-correction-older", "row-correction-third-not-newer"],
    ),
    step(
        "conflict-not-counted",
        "  (ite (third-correction s) #x00 (bvadd (corrections s) #x01)))",
        "  (ite (or (leads s o) (not (equals s o)) (repeats s o))\n       (ite (third-correction s) #x00 (bvadd (corrections s) #x01)) (corrections s)))",
        &["row-correction-equal-other"],
    ),
    step(
        "corrections-never-start-anew",
        "  (ite (third-correction s) #x00 (bvadd (corrections s) #x01)))",
        "  (bvadd (corrections s) #x01))",
        &["corrections-stay-at-most-two"],
    ),
    step(
        "correction-counter-stays-at-two",
        "  (ite (third-correction s) #x00 (bvadd (corrections s) #x01)))",
        "  (ite (third-correction s) #x02 (bvadd (corrections s) #x01)))",
        &[
            "row-correction-third-newer",
            "recovery-rank-falls-on-a-correction",
        ],
    ),
    step(
        "conflict-keeps-token",
        "  (ite (repeats s o) (carrying (accepted (mark s)))\n  tokenless))))",
        "  (ite (repeats s o) (carrying (accepted (mark s)))\n  (active s)))))",
        &["row-correction-equal-other", "conflict-clears"],
    ),
    step(
        "conflict-activates-the-other-token",
        "  (ite (repeats s o) (carrying (accepted (mark s)))\n  tokenless))))",
        "  (ite (repeats s o) (carrying (accepted (mark s)))\n  (carrying (offered o))))))",
        &["active-token-is-the-accepted-one", "cleared-stays-cleared"],
    ),
    step(
        "no-restore",
        "  (ite (repeats s o) (carrying (accepted (mark s)))\n",
        "  (ite (repeats s o) (active s)\n",
        &[
            "row-correction-equal-accepted",
            "recovery-rank-falls-on-a-correction",
        ],
    ),
    step(
        "older-clears",
        "  (ite (not (equals s o)) (active s)\n",
        "  (ite (not (equals s o)) tokenless\n",
        &["row-correction-older", "clears-only-on-third-or-conflict"],
    ),
    step(
        "older-restores",
        "  (ite (not (equals s o)) (active s)\n",
        "  (ite (not (equals s o)) (carrying (accepted (mark s)))\n",
        &["cleared-stays-cleared", "no-token-that-no-correction-gave"],
    ),
    step(
        "older-lowers-watermark",
        "  (ite (and ((_ is correction) o) (leads s o)) (known (told o) (offered o))\n",
        "  (ite ((_ is correction) o) (known (told o) (offered o))\n",
        &[
            "watermark-never-falls",
            "watermark-is-the-greatest-committed",
        ],
    ),
    step(
        "newer-keeps-accepted-token",
        "  (ite (and ((_ is correction) o) (leads s o)) (known (told o) (offered o))\n",
        "  (ite (and ((_ is correction) o) (leads s o))\n       (known (told o) (ite ((_ is known) (mark s)) (accepted (mark s)) (offered o)))\n",
        &[
            "one-accepted-token-per-watermark",
            "recovery-stays-possible",
        ],
    ),
    step(
        "third-correction-not-applied",
        "  (ite (and ((_ is correction) o) (leads s o)) (known (told o) (offered o))\n",
        "  (ite (and ((_ is correction) o) (leads s o) (not (third-correction s)))\n       (known (told o) (offered o))\n",
        &[
            "row-correction-third-newer",
            "watermark-is-the-greatest-committed",
        ],
    ),
    step(
        "third-correction-keeps-token",
        "(ite (third-correction s) tokenless (active-after-correction s o))",
        "(active-after-correction s o)",
        &["third-correction-clears"],
    ),
    step(
        "cleared-before-applied",
        "(ite (third-correction s) tokenless (active-after-correction s o))",
        "(active-after-correction\n    (ite (third-correction s)\n         (state (generation s) (mark s) tokenless (corrections s) (failures s)) s) o)",
        &["third-correction-clears", "row-correction-third-newer"],
    ),
    // Limits.
    step(
        "corrections-clear-one-late",
        "(= (corrections s) #x02)",
        "(= (corrections s) #x03)",
        &["corrections-stay-at-most-two", "third-correction-clears"],
    ),
    step(
        "corrections-clear-one-early",
        "(= (corrections s) #x02)",
        "(= (corrections s) #x01)",
        &[
            "row-correction-newer",
            "recovery-rank-falls-on-a-correction",
        ],
    ),
    step(
        "failures-clear-one-late",
        "(= (failures s) #x02)",
        "(= (failures s) #x03)",
        &["failures-stay-at-most-two", "third-failure-clears"],
    ),
    step(
        "failures-clear-one-early",
        "(= (failures s) #x02)",
        "(= (failures s) #x01)",
        &["row-failure-with-token", "clears-only-on-third-or-conflict"],
    ),
    // Failures.
    step(
        "failure-resets-corrections",
        "  (ite ((_ is failure) o) (corrections s)\n",
        "  (ite ((_ is failure) o) #x00\n",
        &["failures-leave-corrections-alone"],
    ),
    step(
        "third-failure-keeps-token",
        "  (ite ((_ is failure) o) (ite (third-failure s) tokenless (active s))\n",
        "  (ite ((_ is failure) o) (active s)\n",
        &["third-failure-clears", "at-most-three-failures-count"],
    ),
    step(
        "verdict-late-untold",
        "  (ite (not (= (taken a) (generation s))) said-late\n",
        "  (ite false said-late\n",
        &["verdict-tells-whether-it-committed"],
    ),
    // The beginning, snapshots, the invariants and the claims.
    Mutant {
        name: "start-with-a-count",
        text: Text::State,
        from: "(state #x0000000000000000 unknown tokenless #x00 #x00)",
        to: "(state #x0000000000000000 unknown tokenless #x01 #x00)",
        killers: &["start-is-sound"],
    },
    Mutant {
        name: "snapshot-without-token",
        text: Text::State,
        from: "(attempt (generation s) (active s))",
        to: "(attempt (generation s) tokenless)",
        killers: &["next-request-carries-the-active-token-or-none"],
    },
    Mutant {
        name: "attempts-need-not-fit",
        text: Text::State,
        from: "  (=> (= (taken a) (generation s)) (= (carries a) (active s))))",
        to: "  true)",
        killers: &[
            "recovery-ends-in-a-success",
            "failures-imply-an-active-token",
        ],
    },
    Mutant {
        name: "a-row-left-out",
        text: Text::Goals,
        from: "      row-failure-tokenless.when row-neutral.when row-cancelled.when row-late.when))",
        to: "      row-failure-tokenless.when row-neutral.when row-cancelled.when))",
        killers: &["rows-leave-nothing-out"],
    },
    Mutant {
        name: "a-longer-rank",
        text: Text::Goals,
        from: "(ite (bvult (corrections s) #x02) K (+ K K))",
        to: "(ite (bvult (corrections s) #x02) K (+ K K K))",
        killers: &["recovery-within-three-k-polls"],
    },
];
