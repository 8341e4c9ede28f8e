; What one result does to the placement, column by column of the table in model/SPEC.md.

; Only these results may change anything, and only while their generation is current.
(define-fun bears-state ((a Attempt) (o Outcome)) Bool
  (or ((_ is success) o)
      ((_ is correction) o)
      (and ((_ is failure) o) ((_ is carrying) (carries a)))))
(define-fun commits ((s State) (a Attempt) (o Outcome)) Bool
  (and (bears-state a o)
       (= (taken a) (generation s))))

; How a correction stands to the watermark.
(define-fun leads ((s State) (o Outcome)) Bool
  (or ((_ is unknown) (mark s))
      (bvult (revision (mark s)) (told o))))
(define-fun equals ((s State) (o Outcome)) Bool (= (revision (mark s)) (told o)))
(define-fun repeats ((s State) (o Outcome)) Bool (= (accepted (mark s)) (offered o)))

; Whether this is the one that makes three.
(define-fun third-correction ((s State)) Bool (= (corrections s) #x02))
(define-fun third-failure ((s State)) Bool (= (failures s) #x02))

; Column "failures".
(define-fun failures-after-failure ((s State)) Count
  (ite (third-failure s) #x00 (bvadd (failures s) #x01)))
(define-fun failures-after ((s State) (o Outcome)) Count
  (ite ((_ is failure) o) (failures-after-failure s)
  (ite ((_ is correction) o) #x00
  #x00)))

; Column "corrections".
(define-fun corrections-after-correction ((s State) (o Outcome)) Count
  (ite (third-correction s) #x00 (bvadd (corrections s) #x01)))
(define-fun corrections-after ((s State) (o Outcome)) Count
  (ite ((_ is failure) o) (corrections s)
  (ite ((_ is correction) o) (corrections-after-correction s o)
  #x00)))

; Column "token and watermark": the watermark with its accepted token.
(define-fun mark-after ((s State) (o Outcome)) Mark
  (ite (and ((_ is correction) o) (leads s o)) (known (told o) (offered o))
  (mark s)))

; Column "token and watermark": the active token, before and after the clearing of a third one.
(define-fun active-after-correction ((s State) (o Outcome)) Carried
  (ite (leads s o) (carrying (offered o))
  (ite (not (equals s o)) (active s)
  (ite (repeats s o) (carrying (accepted (mark s)))
  tokenless))))
(define-fun active-after ((s State) (o Outcome)) Carried
  (ite ((_ is failure) o) (ite (third-failure s) tokenless (active s))
  (ite ((_ is correction) o) (ite (third-correction s) tokenless (active-after-correction s o))
  (active s))))

; The row as a whole.
(define-fun step ((s State) (a Attempt) (o Outcome)) State
  (ite (commits s a o)
       (state (bvadd (generation s) #x0000000000000001)
              (mark-after s o)
              (active-after s o)
              (corrections-after s o)
              (failures-after s o))
       s))

; The name of the row.
(define-fun verdict-of-correction ((s State) (o Outcome)) Verdict
  (ite (third-correction s) said-round_exhausted
  (ite (leads s o) said-installed
  (ite (not (equals s o)) said-stale_revision
  (ite (repeats s o) said-restored
  said-conflicted)))))
(define-fun verdict ((s State) (a Attempt) (o Outcome)) Verdict
  (ite ((_ is cancelled) o) said-cancelled
  (ite ((_ is neutral) o) said-neutral
  (ite (not (bears-state a o)) said-tokenless_failure
  (ite (not (= (taken a) (generation s))) said-late
  (ite ((_ is success) o) said-success
  (ite ((_ is correction) o) (verdict-of-correction s o)
  (ite (third-failure s) said-evicted
  said-failure_counted))))))))
