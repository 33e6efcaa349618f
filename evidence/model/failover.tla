------------------------------ MODULE failover ------------------------------
(***************************************************************************)
(* Stores that forget, with clocks: a store fails over to a successor that *)
(* missed writes, and whose clock is behind. The verbs are those of        *)
(* src/frazil/claims/record.py, and the names those of the code.           *)
(*                                                                         *)
(* claims.tla gives members no clock, so there a loss is harmless only if  *)
(* somebody who asks knows the highest now. Here is real time: each store  *)
(* has a skew, a member continues the clock that it was told, and a holder *)
(* is heard in time. What a store lost is what its members remember.       *)
(*                                                                         *)
(* One slot. A cell is a tick. A member that receives a claim owns its     *)
(* cells, and no cell may have two owners. A request is served when it is  *)
(* sent; its reply comes at once, or never, or late (to a quiet member).   *)
(* Revisions are in claims.tla: here the incarnation shows each loss.      *)
(*                                                                         *)
(* The promise needs a member that remembers and reaches the successor. So *)
(* a store is lost only while a holder that is not quiet knows the highest *)
(* now, and each such holder is served at least once in a horizon.         *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
    Members,    \* processes, as model values
    horizon,    \* how many ticks ahead of now are given at most
    end,        \* the last moment
    behind,     \* how far behind a successor's clock is at most
    losses,     \* how often the store is replaced
    steps,      \* how often a clock steps during a wait
    hung,       \* how many members may be quiet
    broken      \* the rules that are left out

\* The first five together are what the first to ask alone would decide.
Rules == {"wait", "heed", "continued", "reach", "boot clock", "holders report", "tokens void"}
ASSUME broken \subseteq Rules

VARIABLES
    time,       \* the true time, and what is added to it by the store's clock
    skew,
    incarnation,
    record,     \* the store's
    copy,       \* what a successor has
    lives,      \* how many identities were drawn
    member,     \* what each process remembers and holds
    late,       \* the replies to a quiet member that are still on their way
    silent,     \* for how long each was not served, up to a horizon
    quiet,      \* members that need not be heard: paused, cut off, hung
    owner,      \* the token of the claim that each cell was received with
    twice,      \* whether a cell has two owners
    everTop,    \* the highest now ever used
    stepped, tokens

vars == <<time, skew, incarnation, record, copy, lives, member, late, silent, quiet, owner, twice,
          everTop, stepped, tokens>>

Later(a, b) == IF a >= b THEN a ELSE b
Earlier(a, b) == IF a <= b THEN a ELSE b
Max(S) == CHOOSE x \in S : \A y \in S : y <= x
Whole(rule) == rule \notin broken
wait == horizon + 1     \* a horizon and an eighth, rounded up
Cells == 0 .. end + 2 * horizon

NoClaim == [start |-> 0, until |-> 0, token |-> 0]
\* clock is now, continued since the request was sent; known: for how long this sid is known, up to
\* a wait. knows is what the member truly can know: the highest clock, less the time.
Unheard == [sid |-> 0, now |-> 0, clock |-> 0, reach |-> 0, known |-> 0]
Fresh == [seen |-> Unheard, claim |-> NoClaim, knows |-> -100]
Holder == [seen |-> [Unheard EXCEPT !.sid = 1, !.now = 1, !.clock = 1, !.reach = 1 + horizon],
           claim |-> [start |-> 1, until |-> 1 + horizon, token |-> 1], knows |-> 0]
NoRecord == [sid |-> 0, waits |-> FALSE, incarnation |-> 0, guard |-> 0, top |-> 0,
             until |-> 0, start |-> 0, token |-> 0]

-----------------------------------------------------------------------------
(* The verbs. *)

Clock(seen) == IF Whole("continued") THEN seen.clock ELSE seen.now

IsLoss(r, seen, held) ==
    \/ r.sid = 0
    \/ r.incarnation # incarnation
    \/ /\ ~r.waits
       /\ \/ held.until > Later(r.until, r.guard) /\ ~(r.token = 0 /\ r.start = held.start)
          \/ seen.sid \notin {0, r.sid} /\ seen.now + horizon > r.guard

\* After a step back now stands still, as if the offset did not shrink.
Arrive(seen, held) ==
    LET now == Later(time + skew, record.top)
        read == [record EXCEPT !.top = now]
        latest == Max({time + skew, record.top, Clock(seen)})
        guard == latest + (IF Whole("wait") THEN wait ELSE horizon)
        lossy == [read EXCEPT !.sid = lives + 1, !.incarnation = incarnation,
            !.waits = Whole("wait"), !.guard = Max({@, guard, held.until}),
            !.token = IF Whole("tokens void") THEN 0 ELSE @,
            !.start = IF Whole("tokens void") THEN record.until ELSE @]
        first == IF IsLoss(record, seen, held) THEN lossy ELSE read
        ahead == seen.sid \notin {0, first.sid} /\ Clock(seen) > now
        heeds == IF ~Whole("heed") THEN first
                 ELSE [first EXCEPT !.guard = Max({@, seen.reach, held.until,
                           IF ahead THEN Clock(seen) + wait ELSE 0})]
        over == IF Whole("boot clock") THEN seen.sid = first.sid /\ seen.known = wait
                ELSE now >= heeds.guard
    IN  IF first.waits THEN [heeds EXCEPT !.waits = ~over] ELSE first

Grant(r) ==
    LET start == Max({r.until, r.guard, r.top})
        until == r.top + horizon
    IN  IF r.waits \/ (Whole("wait") /\ r.top < r.guard) \/ until <= start THEN NoClaim
        ELSE [start |-> start, until |-> until, token |-> tokens + 1]

Renew(r, held) ==
    IF r.token # held.token \/ r.until # held.until THEN NoClaim
    ELSE [held EXCEPT !.until = Later(@, r.top + horizon)]

\* What a member remembers after a reply: VerbRequest.memory.
Memory(seen, told) ==
    LET same == seen.sid = told.sid
        ahead == ~same /\ seen.sid # 0 /\ Clock(seen) > told.now
    IN  [told EXCEPT !.reach = IF Whole("reach")
                               THEN Max({seen.reach, @, IF ahead THEN Clock(seen) + wait ELSE 0})
                               ELSE 0,
                     !.known = IF same THEN seen.known ELSE 0]

Received(mem, told, claim) ==
    [seen |-> Memory(mem.seen, told), claim |-> IF claim = NoClaim THEN mem.claim ELSE claim,
     knows |-> Later(mem.knows, told.clock - time)]

Own(claim) ==
    LET cells == {n \in Cells : claim.start <= n /\ n < claim.until}
    IN  /\ owner' = [n \in Cells |-> IF n \in cells THEN claim.token ELSE owner[n]]
        /\ twice' = (twice \/ \E n \in cells : owner[n] \notin {0, claim.token})

Serve(m, verb) ==
    LET mem == member[m]
        held == IF verb = "renew" THEN mem.claim ELSE NoClaim
        arrived == Arrive(mem.seen, held)
        claim == IF verb = "renew" THEN Renew(arrived, held) ELSE Grant(arrived)
        told == [Unheard EXCEPT !.sid = arrived.sid, !.now = arrived.top, !.clock = arrived.top,
                                !.reach = claim.until]
    IN  /\ silent[m] > 0 /\ late[m] = <<>>
        /\ IF verb = "renew" THEN mem.claim.until > 0 ELSE mem.claim.until <= mem.seen.clock
        /\ record' = IF claim = NoClaim THEN arrived
                     ELSE [arrived EXCEPT !.until = claim.until, !.start = claim.start,
                                          !.token = claim.token]
        /\ lives' = Later(lives, arrived.sid)
        /\ tokens' = Later(tokens, claim.token)
        /\ everTop' = Later(everTop, arrived.top)
        /\ silent' = [silent EXCEPT ![m] = 0]
        /\ \/ /\ member' = [member EXCEPT ![m] = Received(mem, told, claim)]
              /\ Own(claim) /\ UNCHANGED late
           \/ m \in quiet /\ UNCHANGED <<member, late, owner, twice>>
           \/ /\ m \in quiet /\ late' = [late EXCEPT ![m] = <<told, claim>>]
              /\ UNCHANGED <<member, owner, twice>>
        /\ UNCHANGED <<time, skew, incarnation, copy, quiet, stepped>>

Receive(m) ==
    /\ late[m] # <<>>
    /\ member' = [member EXCEPT ![m] = Received(@, late[m][1], late[m][2])]
    /\ Own(late[m][2])
    /\ late' = [late EXCEPT ![m] = <<>>]
    /\ UNCHANGED <<time, skew, incarnation, record, copy, lives, silent, quiet, everTop, stepped,
                   tokens>>

-----------------------------------------------------------------------------
(* Time, and the store's faults. *)

\* A holder reports until its claim's end, and a wait longer.
IsHolder(m) ==
    member[m].claim.until > 0 /\ m \notin quiet /\ member[m].seen.clock <= member[m].claim.until

Older(mem) ==
    [mem EXCEPT !.seen.clock = IF mem.seen.sid = 0 THEN 0 ELSE @ + 1,
                !.seen.known = IF mem.seen.sid = 0 THEN 0 ELSE Earlier(@ + 1, wait)]

Tick ==
    /\ time < end
    /\ Whole("holders report") => \A m \in Members : IsHolder(m) => silent[m] < horizon
    /\ time' = time + 1
    /\ silent' = [m \in Members |-> Earlier(silent[m] + 1, horizon)]
    /\ member' = [m \in Members |-> Older(member[m])]
    /\ late' = [m \in Members |-> IF late[m] = <<>> THEN <<>>
                   ELSE <<[late[m][1] EXCEPT !.clock = @ + 1], late[m][2]>>]
    /\ UNCHANGED <<skew, incarnation, record, copy, lives, quiet, owner, twice, everTop, stepped,
                   tokens>>

Copy ==
    /\ record.waits /\ incarnation < losses /\ copy # record
    /\ copy' = record
    /\ UNCHANGED <<time, skew, incarnation, record, lives, member, late, silent, quiet, owner,
                   twice, everTop, stepped, tokens>>

CanTell(m) == IsHolder(m) /\ silent[m] > 0 /\ member[m].knows + time >= everTop

Fail ==
    /\ incarnation < losses /\ \E m \in Members : CanTell(m)
    /\ incarnation' = incarnation + 1
    /\ record' \in {copy, NoRecord}
    /\ skew' \in {skew - n : n \in 0 .. behind}
    /\ UNCHANGED <<time, copy, lives, member, late, silent, quiet, owner, twice, everTop, stepped,
                   tokens>>

\* The clock is stepped while a wait lasts: corrected, or worse.
Step ==
    /\ stepped < steps /\ record.waits
    /\ skew' \in {skew + n : n \in -1 .. behind}
    /\ stepped' = stepped + 1
    /\ UNCHANGED <<time, incarnation, record, copy, lives, member, late, silent, quiet, owner,
                   twice, everTop, tokens>>

Init ==
    /\ time = 1 /\ skew = 0 /\ incarnation = 0 /\ lives = 1
    /\ record = [NoRecord EXCEPT !.sid = 1, !.top = 1, !.until = 1 + horizon, !.start = 1,
                                 !.token = 1]
    /\ copy = record
    /\ member = [m \in Members |-> IF m = CHOOSE k \in Members : TRUE THEN Holder ELSE Fresh]
    /\ late = [m \in Members |-> <<>>]
    /\ silent = [m \in Members |-> IF member[m] = Holder THEN 0 ELSE horizon]
    /\ quiet \in {S \in SUBSET Members : Cardinality(S) <= hung}
    /\ owner = [n \in Cells |-> IF n \in 1 .. horizon THEN 1 ELSE 0] /\ twice = FALSE
    /\ everTop = 1 /\ stepped = 0 /\ tokens = 1

Next ==
    \/ Tick \/ Copy \/ Fail \/ Step
    \/ \E m \in Members : Serve(m, "grant") \/ Serve(m, "renew") \/ Receive(m)

Spec == Init /\ [][Next]_vars
NoCellTwice == ~twice
=============================================================================
