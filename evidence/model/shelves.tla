------------------------------ MODULE shelves -------------------------------
(***************************************************************************)
(* A namespace with several records in one store: src/frazil/claims/       *)
(* shelves.py and src/frazil/registries/shelves.py, whose names these are. *)
(*                                                                         *)
(* Two node numbers. A member counts two shelves with one number each, or  *)
(* one record with both, as members of another version would. A shelf is   *)
(* lost, or put back as it was at an earlier moment, while the other one   *)
(* stays. That shows, by a missing key or by the store's incarnation: what *)
(* does not show, and clocks that go back, are in claims.tla and           *)
(* failover.tla. A record made of one shelf alone and lost, and a person's *)
(* wrong word about it, is outside the promise.                            *)
(*                                                                         *)
(* A cell is a tick of a number. Its owner is the claim with which a       *)
(* member received it, and no cell may have two owners.                    *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
    Members,    \* processes, as model values
    horizon,    \* how many ticks ahead of now are given at most
    end,        \* the last moment
    losses,     \* how often a shelf is lost or put back
    broken      \* the rules that are left out

Canaries == {"slots apart", "count in the fingerprint", "first shelf compared", "guard",
             "new looks at all"}
ASSUME broken \subseteq Canaries

VARIABLES
    now,        \* the store's clock
    shelf,      \* the records
    copy,       \* an earlier state of each
    count,      \* how many shelves each member counts
    held,       \* the claim of each member
    owner,      \* of each cell
    twice, tokens, lives, lost

vars == <<now, shelf, copy, count, held, owner, twice, tokens, lives, lost>>

Slots == {0, 1}
Cells == 0 .. end + horizon
Whole(rule) == rule \notin broken
Later(a, b) == IF a >= b THEN a ELSE b

NoClaim == [slot |-> 0, until |-> 0, token |-> 0]
Missing == [sid |-> 0, count |-> 0, guard |-> 0, known |-> TRUE,
            until |-> [s \in Slots |-> 0], token |-> [s \in Slots |-> 0]]

Shelves(c) == 0 .. c - 1
Share(c, k) == IF c = 1 \/ (k = 1 /\ ~Whole("slots apart")) THEN Slots ELSE {k}
Home(c, slot) == IF c = 1 THEN 0 ELSE slot
Head(r) == <<r.sid, r.count, r.guard, r.known>>
Same(r, c) == r.count = c \/ ~Whole("count in the fingerprint")

-----------------------------------------------------------------------------
(* Steps. A reply comes at once: late and lost ones are in claims.tla. *)

Own(claim, from) ==
    LET cells == {n \in Cells : from <= n /\ n < claim.until}
    IN  /\ owner' = [owner EXCEPT ![claim.slot] =
                        [n \in Cells |-> IF n \in cells THEN claim.token ELSE @[n]]]
        /\ twice' = (twice \/ \E n \in cells : owner[claim.slot][n] \notin {0, claim.token})

\* A free number of record r; shelf k then is as it says.
Grant(m, k, r, free) ==
    \E s \in free :
        LET claim == [slot |-> s, until |-> now + horizon, token |-> tokens + 1]
        IN  /\ Later(r.until[s], r.guard) <= now
            /\ shelf' = [shelf EXCEPT ![k] = [r EXCEPT !.until[s] = claim.until,
                                                       !.token[s] = claim.token]]
            /\ held' = [held EXCEPT ![m] = claim] /\ tokens' = tokens + 1
            /\ Own(claim, now)
            /\ UNCHANGED <<now, copy, count, lives, lost>>

\* A step on one shelf counts only if its head is right, and stays.
Right(m, k) ==
    /\ shelf[k].sid # 0 /\ shelf[k].known /\ Same(shelf[k], count[m])
    /\ Whole("first shelf compared") => Head(shelf[k]) = Head(shelf[0])

GrantOnOne(m) ==
    \E k \in Shelves(count[m]) :
        Right(m, k) /\ Grant(m, k, shelf[k], Share(count[m], k))

Renew(m) ==
    LET claim == held[m]
        k == Home(count[m], claim.slot)
        longer == [claim EXCEPT !.until = Later(@, now + horizon)]
    IN  /\ claim.token # 0 /\ Right(m, k)
        /\ shelf[k].token[claim.slot] = claim.token /\ shelf[k].until[claim.slot] = claim.until
        /\ shelf' = [shelf EXCEPT ![k].until[claim.slot] = longer.until]
        /\ held' = [held EXCEPT ![m] = longer]
        /\ Own(longer, claim.until)
        /\ UNCHANGED <<now, copy, count, tokens, lives, lost>>

\* What a step on one shelf cannot do is one step on all: here a loss, or a member that counts
\* otherwise than the first record that there is.
OnAll(m) ==
    LET c == count[m]
        made == {k \in Shelves(c) : shelf[k].sid # 0}
        first == IF made = {} THEN Missing ELSE shelf[CHOOSE k \in made : \A j \in made : k <= j]
        known == made = Shelves(c) /\ \A k \in made : Head(shelf[k]) = Head(first) /\ first.known
        guard == IF Whole("guard") THEN Later(first.guard, now + horizon + 1) ELSE first.guard
    IN  IF made # {} /\ ~Same(first, c)
        THEN /\ count' = [count EXCEPT ![m] = first.count]
             /\ UNCHANGED <<now, shelf, copy, held, owner, twice, tokens, lives, lost>>
        ELSE /\ ~known
             /\ lives' = lives + 1
             /\ shelf' = [k \in Slots |-> IF k \notin Shelves(c) THEN shelf[k]
                    ELSE [shelf[k] EXCEPT !.sid = lives + 1, !.count = c, !.known = TRUE,
                             !.guard = Later(@, guard), !.token = [s \in Slots |-> 0]]]
             /\ UNCHANGED <<now, copy, count, held, owner, twice, tokens, lost>>

\* A person says that the namespace is new, so that nobody waits.
New(m) ==
    /\ \A k \in (IF Whole("new looks at all") THEN Slots ELSE Shelves(count[m])) :
           shelf[k].sid = 0
    /\ lives' = lives + 1
    /\ shelf' = [k \in Slots |-> IF k \notin Shelves(count[m]) THEN shelf[k]
           ELSE [Missing EXCEPT !.sid = lives + 1, !.count = count[m]]]
    /\ UNCHANGED <<now, copy, count, held, owner, twice, tokens, lost>>

-----------------------------------------------------------------------------
(* Time, and the store's faults. *)

Tick ==
    /\ now < end /\ now' = now + 1
    /\ UNCHANGED <<shelf, copy, count, held, owner, twice, tokens, lives, lost>>

Copy(k) ==
    /\ lost < losses /\ shelf[k].sid # 0 /\ copy[k] = Missing
    /\ copy' = [copy EXCEPT ![k] = [shelf[k] EXCEPT !.known = FALSE]]
    /\ UNCHANGED <<now, shelf, count, held, owner, twice, tokens, lives, lost>>

\* Only of two.
Lose(k) ==
    /\ lost < losses /\ \A j \in Slots : shelf[j].sid # 0
    /\ shelf' = [shelf EXCEPT ![k] = Missing] \/ shelf' = [shelf EXCEPT ![k] = copy[k]]
    /\ lost' = lost + 1
    /\ UNCHANGED <<now, copy, count, held, owner, twice, tokens, lives>>

Init ==
    /\ now = 1 /\ shelf = [k \in Slots |-> [Missing EXCEPT !.sid = 1, !.count = 2]]
    /\ copy = [k \in Slots |-> Missing]
    /\ count \in [Members -> {1, 2}]
    /\ held = [m \in Members |-> NoClaim]
    /\ owner = [s \in Slots |-> [n \in Cells |-> 0]]
    /\ twice = FALSE /\ tokens = 0 /\ lives = 1 /\ lost = 0

Next ==
    \/ Tick
    \/ \E k \in Slots : Copy(k) \/ Lose(k)
    \/ \E m \in Members : GrantOnOne(m) \/ Renew(m) \/ OnAll(m) \/ New(m)

Spec == Init /\ [][Next]_vars
NoCellTwice == ~twice
=============================================================================
