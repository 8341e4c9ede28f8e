; The placement as data: where it begins, what a request is made from, and what holds between steps.
;
; Read with step.smt2 (what one result does) and goals.smt2 (what is proved). All three were written by
; hand from the table and the entries PLC-1 to PLC-22 of model/SPEC.md, not from the Rust text.
; By hand: cat state.smt2 step.smt2 goals.smt2 and add, for a goal G,
;   (assert G.when) (assert (not G.then)) (check-sat)
; The answer `unsat` says that no state, attempt and outcome break G.

(set-logic ALL)

; Revisions and generations are all 64-bit numbers. Of tokens nothing is known but equality.
(define-sort Revision () (_ BitVec 64))
(define-sort Generation () (_ BitVec 64))
(define-sort Count () (_ BitVec 8))
(declare-sort Token 0)

; What a request carries.
(declare-datatypes ((Carried 0)) (((tokenless) (carrying (token Token)))))

; The watermark and the token accepted with it.
(declare-datatypes ((Mark 0)) (((unknown) (known (revision Revision) (accepted Token)))))

; The active token stands on its own here, so that its being the accepted one is something to prove.
(declare-datatypes ((State 0)) (((state
  (generation Generation)
  (mark Mark)
  (active Carried)
  (corrections Count)
  (failures Count)))))

; A snapshot taken before a request.
(declare-datatypes ((Attempt 0)) (((attempt (taken Generation) (carries Carried)))))

; What one attempt brought back.
(declare-datatypes ((Outcome 0)) (((success) (correction (told Revision) (offered Token)) (failure)
  (neutral) (cancelled))))

; What a commit says that it did.
(declare-datatypes ((Verdict 0)) (((said-cancelled) (said-conflicted) (said-evicted)
  (said-failure_counted) (said-installed) (said-late) (said-neutral) (said-restored)
  (said-round_exhausted) (said-stale_revision) (said-success) (said-tokenless_failure))))

; The placement of a new client, and the snapshot that a request is made from.
(define-fun start () State (state #x0000000000000000 unknown tokenless #x00 #x00))
(define-fun snapshot ((s State)) Attempt (attempt (generation s) (active s)))

; The invariants, one by one.
(define-fun corrections-at-most-two ((s State)) Bool (bvule (corrections s) #x02))
(define-fun failures-at-most-two ((s State)) Bool (bvule (failures s) #x02))
(define-fun failures-need-active-token ((s State)) Bool
  (or (= (failures s) #x00) ((_ is carrying) (active s))))
(define-fun corrections-need-watermark ((s State)) Bool
  (or (= (corrections s) #x00) ((_ is known) (mark s))))
(define-fun active-is-accepted ((s State)) Bool
  (=> ((_ is carrying) (active s))
      (and ((_ is known) (mark s)) (= (token (active s)) (accepted (mark s))))))

(define-fun sound ((s State)) Bool
  (and (corrections-at-most-two s) (failures-at-most-two s) (failures-need-active-token s)
       (corrections-need-watermark s) (active-is-accepted s)))

; An attempt in flight: late, or carrying exactly the active token.
(define-fun fits ((s State) (a Attempt)) Bool
  (=> (= (taken a) (generation s)) (= (carries a) (active s))))
