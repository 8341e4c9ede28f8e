; What is proved of step.smt2.
;
; Each goal G says: where G.when holds, G.then holds, for every state, attempt and outcome below.
; G.when must be possible, or the goal would say nothing; that is checked too. Nothing here uses a
; definition of step.smt2 but `step` and `verdict`, so that an error made there cannot be repeated here
; unseen.

; Before: a state, the attempt that ends, another attempt in flight, and the outcome. After: n.
(declare-const s State)
(declare-const a Attempt)
(declare-const b Attempt)
(declare-const o Outcome)
(define-fun n () State (step s a o))

; Before the step all is well.
(define-fun before () Bool (and (sound s) (fits s a)))
; The result is of the current generation, and of which kind it is.
(define-fun in-time () Bool (= (taken a) (generation s)))
(define-fun succeeds () Bool ((_ is success) o))
(define-fun corrects () Bool ((_ is correction) o))
(define-fun fails () Bool ((_ is failure) o))
; How a correction compares with the watermark.
(define-fun first () Bool (and corrects ((_ is unknown) (mark s))))
(define-fun versed () Bool (and corrects ((_ is known) (mark s))))
(define-fun newer () Bool (and versed (bvugt (told o) (revision (mark s)))))
(define-fun older () Bool (and versed (bvult (told o) (revision (mark s)))))
(define-fun same () Bool (and versed (= (told o) (revision (mark s)))))
(define-fun same-accepted () Bool (and same (= (offered o) (accepted (mark s)))))
(define-fun same-other () Bool (and same (distinct (offered o) (accepted (mark s)))))
; The result of this request is one that may change the state, if it is in time.
(define-fun state-bearing () Bool
  (or succeeds corrects (and fails ((_ is carrying) (carries a)))))
; What the generation of the next state is, if the step commits.
(define-fun next-generation () Generation (bvadd (generation s) #x0000000000000001))
; A correction in time that is not the third of its round, and one that is.
(define-fun counted () Bool (and before in-time corrects (bvult (corrections s) #x02)))
(define-fun third () Bool (and before in-time corrects (= (corrections s) #x02)))

;; Invariants: what held before holds after.

; goal start-is-sound
; The placement of a new client satisfies every invariant, and its first poll carries no token. (PLC-2)
(define-fun start-is-sound.when () Bool true)
(define-fun start-is-sound.then () Bool
  (and (sound start) (= (mark start) unknown) (= (carries (snapshot start)) tokenless)))

; goal corrections-stay-at-most-two
; The correction counter never shows three. (PLC-13, PLC-14)
(define-fun corrections-stay-at-most-two.when () Bool before)
(define-fun corrections-stay-at-most-two.then () Bool (corrections-at-most-two n))

; goal failures-stay-at-most-two
; The failure counter never shows three. (PLC-16, PLC-17)
(define-fun failures-stay-at-most-two.when () Bool before)
(define-fun failures-stay-at-most-two.then () Bool (failures-at-most-two n))

; goal failures-imply-an-active-token
; Failures are counted only against an active token. (PLC-13, PLC-16, PLC-18)
(define-fun failures-imply-an-active-token.when () Bool before)
(define-fun failures-imply-an-active-token.then () Bool (failures-need-active-token n))

; goal corrections-imply-a-watermark
; Corrections are counted only where a watermark is known. (PLC-9, PLC-13)
(define-fun corrections-imply-a-watermark.when () Bool before)
(define-fun corrections-imply-a-watermark.then () Bool (corrections-need-watermark n))

; goal active-token-is-the-accepted-one
; An active token is the one accepted with the watermark. (PLC-9 to PLC-12, PLC-21)
(define-fun active-token-is-the-accepted-one.when () Bool before)
(define-fun active-token-is-the-accepted-one.then () Bool (active-is-accepted n))

; goal current-attempts-carry-the-active-token
; Any other attempt in flight is late after the step or carries exactly the active token. Assumed: it
; is not 2^64 - 1 commits old, for then the wrapped generation would call it current. (PLC-3, PLC-4)
(define-fun current-attempts-carry-the-active-token.when () Bool
  (and before (fits s b) (distinct (taken b) next-generation)))
(define-fun current-attempts-carry-the-active-token.then () Bool (fits n b))

; goal next-request-carries-the-active-token-or-none
; The request after the step carries exactly the active token, or none. (PLC-3)
(define-fun next-request-carries-the-active-token-or-none.when () Bool before)
(define-fun next-request-carries-the-active-token-or-none.then () Bool
  (and (= (carries (snapshot n)) (active n)) (= (taken (snapshot n)) (generation n))))

;; Rows: each row of the commit table says what the whole next state is.

; goal row-success
; A success sets both counters to 0 and changes nothing else. (PLC-7)
(define-fun row-success.when () Bool (and before in-time succeeds))
(define-fun row-success.then () Bool
  (= n (state next-generation (mark s) (active s) #x00 #x00)))

; goal row-correction-first
; The first correction makes its revision the watermark and its token accepted and active. (PLC-9, PLC-13)
(define-fun row-correction-first.when () Bool (and counted first))
(define-fun row-correction-first.then () Bool
  (= n (state next-generation (known (told o) (offered o)) (carrying (offered o))
              (bvadd (corrections s) #x01) #x00)))

; goal row-correction-newer
; A newer revision becomes the watermark and its token accepted and active. (PLC-9, PLC-13)
(define-fun row-correction-newer.when () Bool (and counted newer))
(define-fun row-correction-newer.then () Bool
  (= n (state next-generation (known (told o) (offered o)) (carrying (offered o))
              (bvadd (corrections s) #x01) #x00)))

; goal row-correction-equal-accepted
; The watermark's revision with the accepted token makes that token active. (PLC-10, PLC-13)
(define-fun row-correction-equal-accepted.when () Bool (and counted same-accepted))
(define-fun row-correction-equal-accepted.then () Bool
  (= n (state next-generation (mark s) (carrying (accepted (mark s)))
              (bvadd (corrections s) #x01) #x00)))

; goal row-correction-equal-other
; The watermark's revision with another token clears the active token. (PLC-11, PLC-13)
(define-fun row-correction-equal-other.when () Bool (and counted same-other))
(define-fun row-correction-equal-other.then () Bool
  (= n (state next-generation (mark s) tokenless (bvadd (corrections s) #x01) #x00)))

; goal row-correction-older
; An older revision counts, and changes no token and no watermark. (PLC-12, PLC-13)
(define-fun row-correction-older.when () Bool (and counted older))
(define-fun row-correction-older.then () Bool
  (= n (state next-generation (mark s) (active s) (bvadd (corrections s) #x01) #x00)))

; goal row-correction-third-newer
; A third correction that is first or newer still moves the watermark; then the token is cleared and the
; round begins anew. (PLC-14, PLC-15)
(define-fun row-correction-third-newer.when () Bool (and third (or first newer)))
(define-fun row-correction-third-newer.then () Bool
  (= n (state next-generation (known (told o) (offered o)) tokenless #x00 #x00)))

; goal row-correction-third-not-newer
; A third correction of an equal or older revision keeps the watermark; the token is cleared and the
; round begins anew. (PLC-14, PLC-15)
(define-fun row-correction-third-not-newer.when () Bool (and third (or same older)))
(define-fun row-correction-third-not-newer.then () Bool
  (= n (state next-generation (mark s) tokenless #x00 #x00)))

; goal row-failure-with-token
; A destination failure of a request with a token adds one and changes nothing else. (PLC-16)
(define-fun row-failure-with-token.when () Bool
  (and before in-time fails (distinct (carries a) tokenless) (bvult (failures s) #x02)))
(define-fun row-failure-with-token.then () Bool
  (= n (state next-generation (mark s) (active s) (corrections s) (bvadd (failures s) #x01))))

; goal row-failure-third
; The third such failure clears the active token and the failure counter, and nothing else. (PLC-17)
(define-fun row-failure-third.when () Bool
  (and before in-time fails (distinct (carries a) tokenless) (= (failures s) #x02)))
(define-fun row-failure-third.then () Bool
  (= n (state next-generation (mark s) tokenless (corrections s) #x00)))

; goal row-failure-tokenless
; A destination failure of a tokenless request changes nothing, in time or late. (PLC-18)
(define-fun row-failure-tokenless.when () Bool
  (and before fails (= (carries a) tokenless)))
(define-fun row-failure-tokenless.then () Bool (= n s))

; goal row-neutral
; A neutral result changes nothing. (PLC-19)
(define-fun row-neutral.when () Bool (and before (= o neutral)))
(define-fun row-neutral.then () Bool (= n s))

; goal row-cancelled
; A cancelled attempt changes nothing. (PLC-20)
(define-fun row-cancelled.when () Bool (and before (= o cancelled)))
(define-fun row-cancelled.then () Bool (= n s))

; goal row-late
; A result whose generation is no longer current changes nothing. (PLC-5)
(define-fun row-late.when () Bool (and before (not in-time)))
(define-fun row-late.then () Bool (= n s))

; goal rows-leave-nothing-out
; Every sound state, fitting attempt and outcome is in one of the rows above. As each row gives the whole
; next state, the rows together leave no freedom to the step.
(define-fun rows-leave-nothing-out.when () Bool before)
(define-fun rows-leave-nothing-out.then () Bool
  (or row-success.when row-correction-first.when row-correction-newer.when
      row-correction-equal-accepted.when row-correction-equal-other.when
      row-correction-older.when row-correction-third-newer.when
      row-correction-third-not-newer.when row-failure-with-token.when row-failure-third.when
      row-failure-tokenless.when row-neutral.when row-cancelled.when row-late.when))

;; Relations between one state and the next, in the words of the protocol.

; goal generation-rises-by-one-on-commit
; The generation rises by exactly one on a state-bearing result in time, and never otherwise. (PLC-4)
(define-fun generation-rises-by-one-on-commit.when () Bool before)
(define-fun generation-rises-by-one-on-commit.then () Bool
  (= (generation n) (ite (and in-time state-bearing) next-generation (generation s))))

; goal watermark-never-falls
; Once known the watermark stays known and does not decrease. (PLC-21)
(define-fun watermark-never-falls.when () Bool (and before ((_ is known) (mark s))))
(define-fun watermark-never-falls.then () Bool
  (and ((_ is known) (mark n)) (bvuge (revision (mark n)) (revision (mark s)))))

; goal watermark-is-the-greatest-committed
; A committed correction leaves the greater of the watermark and its own revision; nothing else moves it.
; (PLC-9 to PLC-12)
(define-fun watermark-is-the-greatest-committed.when () Bool before)
(define-fun watermark-is-the-greatest-committed.then () Bool
  (ite (and in-time corrects)
       (and ((_ is known) (mark n))
            (= (revision (mark n))
               (ite (or first newer) (told o) (revision (mark s)))))
       (= (mark n) (mark s))))

; goal one-accepted-token-per-watermark
; The accepted token changes only together with the watermark, and then to the token of the correction
; that moved it. (PLC-9, PLC-11, PLC-12, PLC-21)
(define-fun one-accepted-token-per-watermark.when () Bool
  (and before ((_ is known) (mark n)) (distinct (mark n) (mark s))))
(define-fun one-accepted-token-per-watermark.then () Bool
  (and in-time corrects (= (accepted (mark n)) (offered o))
       (=> ((_ is known) (mark s)) (distinct (revision (mark n)) (revision (mark s))))))

; goal clears-only-on-third-or-conflict
; An active token is cleared only by a third correction, a third failure or an equal-revision conflict.
; (PLC-11, PLC-14, PLC-17)
(define-fun clears-only-on-third-or-conflict.when () Bool
  (and before (distinct (active s) tokenless) (= (active n) tokenless)))
(define-fun clears-only-on-third-or-conflict.then () Bool
  (and in-time
       (or (and corrects (= (corrections s) #x02))
           (and fails (= (failures s) #x02))
           same-other)))

; goal third-correction-clears
; A third committed correction leaves no active token, whatever else it does. (PLC-14)
(define-fun third-correction-clears.when () Bool third)
(define-fun third-correction-clears.then () Bool (= (active n) tokenless))

; goal third-failure-clears
; A third counted failure leaves no active token. (PLC-17)
(define-fun third-failure-clears.when () Bool row-failure-third.when)
(define-fun third-failure-clears.then () Bool (= (active n) tokenless))

; goal conflict-clears
; A committed correction of the watermark's revision with another token leaves no active token. (PLC-11)
(define-fun conflict-clears.when () Bool (and before in-time same-other))
(define-fun conflict-clears.then () Bool (= (active n) tokenless))

; goal cleared-stays-cleared
; With no active token, one becomes active only by a first or newer correction or by the accepted pair.
; (PLC-8, PLC-9, PLC-10, PLC-12)
(define-fun cleared-stays-cleared.when () Bool
  (and before (= (active s) tokenless) (distinct (active n) tokenless)))
(define-fun cleared-stays-cleared.then () Bool (and in-time (or first newer same-accepted)))

; goal no-token-that-no-correction-gave
; A token that becomes active is the one that the committed correction offered. (PLC-8)
(define-fun no-token-that-no-correction-gave.when () Bool
  (and before (distinct (active n) tokenless) (distinct (active n) (active s))))
(define-fun no-token-that-no-correction-gave.then () Bool
  (and in-time corrects (= (active n) (carrying (offered o)))))

; goal success-teaches-nothing
; A success, in time or late, changes no token and no watermark. (PLC-7, PLC-8)
(define-fun success-teaches-nothing.when () Bool (and before succeeds))
(define-fun success-teaches-nothing.then () Bool
  (and (= (mark n) (mark s)) (= (active n) (active s))))

; goal failures-leave-corrections-alone
; A destination failure never changes the correction counter. (PLC-16)
(define-fun failures-leave-corrections-alone.when () Bool (and before fails))
(define-fun failures-leave-corrections-alone.then () Bool (= (corrections n) (corrections s)))

; goal at-most-three-failures-count
; Between two committed successes or corrections at most three failures count, and the third clears.
; `k` counts them: below three the counter shows k, at three it is 0 and no token is active. (PLC-16, PLC-17)
(declare-const k Count)
(define-fun in-a-row ((k Count) (s State)) Bool
  (ite (bvult k #x03)
       (= k (failures s))
       (and (= k #x03) (= (failures s) #x00) (= (active s) tokenless))))
(define-fun k-after () Count
  (ite (not (and in-time state-bearing)) k (ite fails (bvadd k #x01) #x00)))
(define-fun at-most-three-failures-count.when () Bool (and before (in-a-row k s)))
(define-fun at-most-three-failures-count.then () Bool (in-a-row k-after n))

; goal verdict-tells-whether-it-committed
; The four verdicts that say that nothing changed go with an unchanged state, the other eight with a new
; generation.
(define-fun idle () Bool
  (or (= (verdict s a o) said-cancelled) (= (verdict s a o) said-late)
      (= (verdict s a o) said-neutral) (= (verdict s a o) said-tokenless_failure)))
(define-fun verdict-tells-whether-it-committed.when () Bool before)
(define-fun verdict-tells-whether-it-committed.then () Bool
  (ite idle (= n s) (= (generation n) next-generation)))

;; Recovery. The service has one place for the tunnel: `place`, at revision `at`. It is cooperative while
;; it can still be believed: its revision is above the watermark, or equal with the accepted token. It
;; serves a current request that carries its token, corrects any other current one, and may answer a late
;; one in any way. K requests are in flight at most, of which `late` are late.

; goal recovery-stays-possible
; A correction by a cooperative service leaves it cooperative. (PLC-9, PLC-10, PLC-14, PLC-15)
(declare-const place Token)
(declare-const at Revision)
(declare-const K Int)
(declare-const late Int)
(declare-const late-after Int)
(define-fun cooperative ((s State)) Bool
  (or ((_ is unknown) (mark s))
      (bvult (revision (mark s)) at)
      (and (= (revision (mark s)) at) (= (accepted (mark s)) place))))
(define-fun settled ((s State)) Bool (= (active s) (carrying place)))
(define-fun rounds ((s State)) Int
  (ite (settled s) 0 (ite (bvult (corrections s) #x02) K (+ K K))))
(define-fun rank ((s State) (late Int)) Int (+ (rounds s) late 1))
(define-fun in-flight () Bool (and (<= 1 K) (<= 0 late) (< late K)))
(define-fun corrected () Bool
  (and before (cooperative s) in-time (distinct (carries a) (carrying place))
       (= o (correction at place))))
(define-fun recovery-stays-possible.when () Bool corrected)
(define-fun recovery-stays-possible.then () Bool (cooperative n))

; goal recovery-rank-falls-on-a-correction
; The rank falls although every other request in flight may become late.
(define-fun recovery-rank-falls-on-a-correction.when () Bool
  (and corrected in-flight (<= 0 late-after) (< late-after K)))
(define-fun recovery-rank-falls-on-a-correction.then () Bool (< (rank n late-after) (rank s late)))

; goal recovery-rank-falls-on-a-late-result
; The rank falls when a late request ends, whatever it brings.
(define-fun recovery-rank-falls-on-a-late-result.when () Bool
  (and before (cooperative s) in-flight (<= 1 late) (not in-time) (= late-after (- late 1))))
(define-fun recovery-rank-falls-on-a-late-result.then () Bool
  (and (cooperative n) (< (rank n late-after) (rank s late))))

; goal recovery-within-three-k-polls
; The rank is from 1 to 3 K. By the two goals before, and as a settled current request is served, a success
; comes within 3 K completed polls.
(define-fun recovery-within-three-k-polls.when () Bool (and before in-flight))
(define-fun recovery-within-three-k-polls.then () Bool
  (and (<= 1 (rank s late)) (<= (rank s late) (* 3 K))))

; goal recovery-ends-in-a-success
; Once the service's token is active, every current request carries it.
(define-fun recovery-ends-in-a-success.when () Bool (and before in-time (settled s)))
(define-fun recovery-ends-in-a-success.then () Bool (= (carries a) (carrying place)))

; goal no-recovery-by-what-is-not-newer
; A correction of an older revision, or of an equal one with another token, makes no token active and
; leaves the watermark where it is, so that the service can never be believed again at that revision.
(define-fun no-recovery-by-what-is-not-newer.when () Bool (and before (or older same-other)))
(define-fun no-recovery-by-what-is-not-newer.then () Bool
  (and (= (mark n) (mark s)) (or (= (active n) (active s)) (= (active n) tokenless))))

; goal greatest-revision-shuts-the-door
; With the watermark at 9007199254740991, the greatest revision there is, no correction but the accepted
; pair makes a token active, until the client restarts. (COR-11, PLC-12)
(define-fun greatest-revision-shuts-the-door.when () Bool
  (and before (= (active s) tokenless) ((_ is known) (mark s))
       (= (revision (mark s)) (_ bv9007199254740991 64))
       (=> corrects (bvule (told o) (_ bv9007199254740991 64)))
       (=> corrects (distinct (offered o) (accepted (mark s))))))
(define-fun greatest-revision-shuts-the-door.then () Bool
  (and (= (active n) tokenless) (= (mark n) (mark s))))

;; Limits: claims that are one assumption short of a goal above, and do not hold. They show that the
;; assumption is needed.

; limit fitting-needs-fewer-than-two-to-the-64-commits
; current-attempts-carry-the-active-token without its assumption: an attempt of the generation to come
; would pass for a current one.
(define-fun fitting-needs-fewer-than-two-to-the-64-commits.when () Bool (and before (fits s b)))
(define-fun fitting-needs-fewer-than-two-to-the-64-commits.then () Bool (fits n b))

; limit failures-need-fitting-attempts
; failures-imply-an-active-token without the invariant on attempts: a current request that carried a
; token which is not active would be counted against none.
(define-fun failures-need-fitting-attempts.when () Bool (sound s))
(define-fun failures-need-fitting-attempts.then () Bool (failures-need-active-token n))
