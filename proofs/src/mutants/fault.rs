//! What can be wrong with a step.

use std::fmt;

macro_rules! faults {
    ($($fault:ident: $name:literal, $statement:literal;)*) => {
        /// One thing that is wrong with a step.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Fault {
            /// Nothing: the step does what the shipped one does.
            Nothing,
            $(#[doc = $statement] $fault,)*
        }

        impl Fault {
            /// Every fault, without [`Fault::Nothing`].
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$fault),*];

            /// A stable name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    Self::Nothing => "nothing",
                    $(Self::$fault => $name,)*
                }
            }

            /// What the step does wrong, in one sentence.
            #[must_use]
            pub fn statement(self) -> &'static str {
                match self {
                    Self::Nothing => "It does what the shipped step does.",
                    $(Self::$fault => $statement,)*
                }
            }
        }
    };
}

faults! {
    // The snapshot.
    SnapshotCarriesCleared: "snapshot-carries-cleared",
        "A request carries the accepted token even where it was cleared.";
    SnapshotCarriesNothing: "snapshot-carries-nothing",
        "No request carries a token.";
    SnapshotStampedEarly: "snapshot-stamped-early",
        "A request is stamped with the generation before the placement's.";

    // What a result is taken for.
    CancelledIsFailure: "cancelled-is-failure",
        "A cancellation is taken for a failure.";
    NeutralIsFailure: "neutral-is-failure",
        "A neutral result is taken for a failure.";
    NeutralIsSuccess: "neutral-is-success",
        "A neutral result is taken for a success.";
    TokenlessIsFailure: "tokenless-is-failure",
        "A failure of a tokenless request is taken for one with a token.";
    TokenlessCounts: "tokenless-counts",
        "A failure of a tokenless request is counted, and fences nobody.";
    TokenlessByPlacement: "tokenless-by-placement",
        "Whether a failed request was tokenless is read from the placement, not from the request.";

    // The fence.
    FenceDropped: "fence-dropped",
        "Late results are committed.";
    FenceDroppedForCorrections: "fence-dropped-for-corrections",
        "Late corrections are committed.";
    FenceDroppedForFailures: "fence-dropped-for-failures",
        "Late failures are committed.";
    FenceDroppedForSuccesses: "fence-dropped-for-successes",
        "Late successes are committed.";
    FenceInverted: "fence-inverted",
        "Late results are committed, and current ones are not.";
    FenceStopsGreaterOnly: "fence-stops-greater-only",
        "A result is late only if its generation is the greater number.";
    FenceStopsLesserOnly: "fence-stops-lesser-only",
        "A result is late only if its generation is the smaller number.";
    LateIsToldAsSuccess: "late-is-told-as-success",
        "A late result changes nothing, and the verdict says that it was committed.";

    // The generation.
    GenerationStays: "generation-stays",
        "No commit advances the generation.";
    GenerationByTwo: "generation-by-two",
        "Each commit advances the generation by two.";
    GenerationSaturates: "generation-saturates",
        "The generation stays at the greatest number.";
    CancelledFences: "cancelled-fences",
        "A cancellation advances the generation.";
    NeutralFences: "neutral-fences",
        "A neutral result advances the generation.";
    TokenlessFences: "tokenless-fences",
        "A failure of a tokenless request advances the generation.";
    LateFences: "late-fences",
        "A late result advances the generation.";
    SuccessDoesNotFence: "success-does-not-fence",
        "A success does not advance the generation.";
    FailureDoesNotFence: "failure-does-not-fence",
        "A failure does not advance the generation.";
    OlderDoesNotFence: "older-does-not-fence",
        "An older correction does not advance the generation.";

    // A success.
    SuccessKeepsCorrections: "success-keeps-corrections",
        "A success leaves the correction counter.";
    SuccessKeepsFailures: "success-keeps-failures",
        "A success leaves the failure counter.";
    SuccessClears: "success-clears",
        "A success clears the active token.";
    SuccessRestores: "success-restores",
        "A success makes the accepted token active.";
    SuccessForgetsCleared: "success-forgets-cleared",
        "A success forgets watermark and accepted token where no token is active.";

    // Every correction.
    CorrectionKeepsFailures: "correction-keeps-failures",
        "A correction leaves the failure counter.";
    CorrectionNotCounted: "correction-not-counted",
        "No correction is counted.";

    // A first or newer correction.
    NewerIgnored: "newer-ignored",
        "A newer correction is taken for an older one.";
    NewerInactive: "newer-inactive",
        "The token of a first or newer correction is accepted, and not active.";
    NewerKeepsToken: "newer-keeps-token",
        "A newer correction raises the watermark and leaves the accepted token.";
    NewerKeepsRevision: "newer-keeps-revision",
        "A newer correction with the accepted token is taken for the accepted pair.";
    NewerBeginsRound: "newer-begins-round",
        "A newer correction begins a new round.";

    // An equal correction.
    EqualInstalls: "equal-installs",
        "A correction with the watermark's revision is taken for a newer one (>= for >).";
    EqualTokensSwapped: "equal-tokens-swapped",
        "The accepted pair is taken for a conflict, and a conflict for the accepted pair.";
    EqualRestoresAny: "equal-restores-any",
        "A correction with the watermark's revision makes the accepted token active, whatever its own token.";
    EqualDoesNotRestore: "equal-does-not-restore",
        "The accepted pair does not make a cleared token active.";
    ConflictKeepsActive: "conflict-keeps-active",
        "A conflict leaves the active token.";
    ConflictTakesToken: "conflict-takes-token",
        "A conflict clears, and its token becomes the accepted one.";
    ConflictForgets: "conflict-forgets",
        "A conflict forgets watermark and accepted token.";
    ConflictNotCounted: "conflict-not-counted",
        "A conflict is not counted.";

    // An older correction.
    OlderInstalls: "older-installs",
        "An older correction is taken for a newer one.";
    OlderClears: "older-clears",
        "An older correction clears the active token.";
    OlderRestores: "older-restores",
        "An older correction makes the accepted token active.";
    OlderNotCounted: "older-not-counted",
        "An older correction is not counted.";
    OlderIsToldAsRestored: "older-is-told-as-restored",
        "The verdict on an older correction says that the accepted token was made active.";

    // The third correction.
    SecondCorrectionClears: "second-correction-clears",
        "The second correction of a round clears.";
    FourthCorrectionClears: "fourth-correction-clears",
        "The fourth correction of a round clears, not the third.";
    ThirdNotCleared: "third-not-cleared",
        "The third correction sets the counter to 0 and leaves the token active.";
    ThirdClearedFirst: "third-cleared-first",
        "The third correction clears before it is applied, not after.";
    ThirdNotApplied: "third-not-applied",
        "The third correction clears and is not applied.";
    ThirdKeepsCounter: "third-keeps-counter",
        "The third correction clears and leaves the counter.";
    ThirdForgets: "third-forgets",
        "The third correction forgets watermark and accepted token.";

    // A failure.
    SecondFailureClears: "second-failure-clears",
        "The second failure clears.";
    FourthFailureClears: "fourth-failure-clears",
        "The fourth failure clears, not the third.";
    FailureResetsCorrections: "failure-resets-corrections",
        "A failure sets the correction counter to 0.";
    FailureCountsAsCorrection: "failure-counts-as-correction",
        "A failure below the limit counts as a correction too.";
    EvictionDoesNotClear: "eviction-does-not-clear",
        "The third failure sets the counter to 0 and leaves the token active.";
    EvictionKeepsCounter: "eviction-keeps-counter",
        "The third failure clears and leaves the counter.";
    EvictionResetsCorrections: "eviction-resets-corrections",
        "The third failure sets the correction counter to 0.";
    EvictionForgets: "eviction-forgets",
        "The third failure forgets watermark and accepted token.";

    // Outside of the placement.
    FailuresShared: "failures-shared",
        "All placements have one failure counter.";
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
