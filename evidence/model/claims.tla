------------------------------- MODULE claims -------------------------------
(***************************************************************************)
(* The claim protocol of frazil: the verbs of src/frazil/claims/record.py, *)
(* the members that request them (keeper_policy.py, walk.py), and all      *)
(* faults between them. The names are those of the code.                   *)
(*                                                                         *)
(* A tick has one cell, so an ID is a slot and a tick. A behaviour issues  *)
(* one ID, any that it may, and then only checks whether that ID can be    *)
(* issued again. Every choice is explored, so the model need not remember  *)
(* all IDs. Other IDs would move the cursor, so that a release gives less  *)
(* back: here a release may give back as little as it likes.               *)
(*                                                                         *)
(* Members have no clock. A walk may issue any tick of its claim at any    *)
(* time, which covers every clock, every pause and every lead. The store's *)
(* clock may read anything at any verb (see Covered for the exception). A  *)
(* refused witness writes nothing, so it is like a lost request.           *)
(*                                                                         *)
(* A request stays in the network: it may be served never, late, twice, or *)
(* after later ones. A reply may be received or not.                       *)
(*                                                                         *)
(* broken: the rules that are left out. With none, all invariants hold; if *)
(* any one of Canaries is left out, TLC must find a violated invariant.    *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
    Members,    \* processes, as model values
    slots,      \* how many node numbers there are
    end,        \* the first tick that does not exist
    horizon,    \* how many ticks ahead of now are given at most
    want,       \* how many ticks a member requests
    requests,   \* how many requests are sent in all
    serves,     \* how many times a request is served in all
    losses,     \* how often the store forgets
    verbs,      \* the verbs that members request
    faults,     \* other faults: "crash", "fork", "late" (and served twice)
    broken      \* the rules that are left out

Canaries == {"no guard", "renew without token", "release without token",
    "release before close", "child releases", "fork unnoticed",
    "tokens survive", "beyond the horizon", "bare reply", "no memory",
    "first use waits"}

ASSUME broken \subseteq Canaries

VARIABLES
    record,      \* the store's record of the namespace
    incarnation, \* of the store itself; the record remembers an earlier one
    copy,        \* an older state of the record, which may be restored
    silent,      \* an older state was restored, and the store does not show it
    member,      \* the memory of each process
    network,     \* requests that were sent
    replies,     \* replies that were sent
    sent, served, lost, \* how many, for the bounds above
    everTop,     \* the highest now ever used
    everRead,    \* the highest reading of the store's clock, for the one rule that needs it
    cell,        \* the slot and tick of the ID issued, <<>> before
    twice        \* whether it was issued again

vars == <<record, incarnation, copy, silent, member, network, replies, sent, served,
          lost, everTop, everRead, cell, twice>>

Slots == 0 .. slots - 1
Ticks == 0 .. end - 1
Later(a, b) == IF a >= b THEN a ELSE b
Earlier(a, b) == IF a <= b THEN a ELSE b
Max(S) == CHOOSE x \in S : \A y \in S : y <= x
Min(S) == CHOOSE x \in S : \A y \in S : y >= x
Whole(rule) == rule \notin broken

NoClaim == [slot |-> 0, start |-> 0, until |-> 0, token |-> 0]
Unheard == [sid |-> 0, revision |-> 0, now |-> 0]
Untouched == [until |-> 0, start |-> 0, token |-> 0]
NoRecord == [sid |-> 0, incarnation |-> 0, revision |-> 0, guard |-> 0,
             last |-> 0, offset |-> 0, top |-> 0, slot |-> [n \in Slots |-> Untouched]]
\* next: the walk's cursor. awaits: the nonce of the request whose reply is awaited.
Fresh == [seen |-> Unheard, claim |-> NoClaim, next |-> 0, awaits |-> 0, intact |-> TRUE]

Holds(m) == member[m].claim.until > 0

-----------------------------------------------------------------------------
(* The record and its verbs: record.py, line by line. *)

Floor(r, n) == Later(r.slot[n].until, r.guard)

TellTime(r, t) ==
    LET passed == t - r.last
        \* An eighth in the code; a half here, where ticks are few. A minute in the code is two
        \* ticks here: a longer step cancels an offset that it mostly covers. (In the code an offset
        \* also ends where "now" would pass the asking member's clock.)
        right == passed > 2 /\ 2 * passed > r.offset
        offset == IF passed < 0 THEN r.offset - passed
                  ELSE r.offset - Earlier(r.offset, IF right THEN passed ELSE passed \div 2)
    IN [r EXCEPT !.last = t, !.offset = offset, !.top = Later(@, t + offset)]

IsLoss(r, ask) ==
    LET held == ask.held  seen == ask.seen  slot == r.slot[held.slot]
        above == held.until > 0 /\ held.until > Floor(r, held.slot)
        givenBack == slot.token = 0 /\ slot.start = held.start
    IN  \/ r.sid = 0
        \/ r.incarnation # incarnation
        \/ /\ Whole("no memory")
           /\ \/ above /\ ~givenBack
              \/ IF seen.sid = r.sid THEN seen.revision > r.revision
                 ELSE seen.sid # 0 /\ seen.now + horizon > r.guard

Found(r, ask) ==
    LET sid == IF r.sid = 0 THEN ask.nonce ELSE r.sid
    IN [r EXCEPT !.sid = sid, !.incarnation = incarnation,
            !.revision = IF ask.seen.sid = sid THEN Later(@, ask.seen.revision) ELSE @]

Void(r) == [r EXCEPT !.slot = [n \in Slots |-> [r.slot[n] EXCEPT !.token = 0]]]

Guarded(r, ask, t) ==
    LET memory == IF Whole("no memory") THEN ask.seen.now ELSE 0
        latest == Max({t, r.top, memory})
        guard == Max({r.guard, latest + horizon,
                      IF Whole("no memory") THEN ask.held.until ELSE 0})
    IN IF Whole("no guard") THEN [r EXCEPT !.guard = guard] ELSE r

Arrive(r, ask, t) ==
    LET timed == TellTime(r, t)
        guarded == Guarded(Found(timed, ask), ask, t)
        after == IF ~IsLoss(r, ask) THEN timed
                 ELSE IF Whole("tokens survive") THEN Void(guarded) ELSE guarded
    IN [after EXCEPT !.revision = @ + 1]

Now(r) == r.last + r.offset
Bound(r) == Earlier(Now(r) + horizon, end)

\* Best fit among the slots whose floor is not ahead, except those whose member may only be late;
\* of those the one that ended first; if none, the least floor, even if held.
Chosen(r) ==
    LET free == {n \in Slots : Floor(r, n) <= Now(r)}
        late == {n \in free : /\ r.slot[n].token # 0 /\ r.slot[n].until > r.guard
                              /\ r.slot[n].until > Now(r) - horizon}
        sure == free \ late
        greatest == Max({Floor(r, n) : n \in sure})
        first == Min({Floor(r, n) : n \in late})
        least == Min({Floor(r, n) : n \in Slots})
        low == {n \in Slots : Floor(r, n) = least}
        unheld == {n \in low : r.slot[n].token = 0 \/ r.slot[n].until <= Now(r)}
    IN IF sure # {} THEN Min({n \in sure : Floor(r, n) = greatest})
       ELSE IF late # {} THEN Min({n \in late : Floor(r, n) = first})
       ELSE IF unheld # {} THEN Min(unheld) ELSE Min(low)

\* The result of a verb: the record, and the claim in the reply (NoClaim: wait, or lost).
Outcome(r, claim) == [record |-> r, claim |-> claim]

Granted(r, ask, ticks, token) ==
    LET n == Chosen(r)
        start == Later(Floor(r, n), Now(r))
        bound == IF Whole("beyond the horizon") THEN Bound(r) ELSE end
        until == Earlier(start + ticks, bound)
        claim == [slot |-> n, start |-> start, until |-> until, token |-> token]
    IN IF until <= start THEN Outcome(r, NoClaim)
       ELSE Outcome([r EXCEPT !.slot[n] = [until |-> until, start |-> start,
                                           token |-> token]], claim)

Grant(r, ask) == Granted(r, ask, want, ask.nonce)
Mint(r, ask) == Granted(r, ask, 1, 0)

Renew(r, ask) ==
    LET held == ask.held
        slot == r.slot[held.slot]
        bound == IF Whole("beyond the horizon") THEN Bound(r) ELSE end
        until == Later(slot.until, Earlier(held.until + want, bound))
    IN IF Whole("renew without token") /\ (slot.token # held.token \/ slot.until # held.until)
       THEN Outcome(r, NoClaim)
       ELSE Outcome([r EXCEPT !.slot[held.slot].until = until],
                    [held EXCEPT !.until = until])

Release(r, ask) ==
    LET held == ask.held
        slot == r.slot[held.slot]
        stands == slot.token = held.token /\ slot.start <= ask.used /\ ask.used <= slot.until
    IN IF Whole("release without token") /\ ~stands
       THEN Outcome(r, NoClaim)
       ELSE Outcome([r EXCEPT !.slot[held.slot] = [until |-> ask.used, start |-> slot.start,
                                                   token |-> 0]], NoClaim)

-----------------------------------------------------------------------------
(* Members send requests, and remember what they are told. A reply that does not come is a third *)
(* outcome: the member sends another request, and a reply to an earlier one is thrown away.      *)

Ask(m, verb, held, used) ==
    [verb |-> verb, from |-> m, nonce |-> sent + 1, seen |-> member[m].seen,
     held |-> held, used |-> used]

Send(ask) ==
    /\ sent < requests /\ ask.verb \in verbs
    /\ sent' = sent + 1
    /\ network' = network \cup {ask}
    /\ replies' = IF Whole("bare reply") THEN {r \in replies : r.to # ask.from} ELSE replies
    /\ UNCHANGED <<record, incarnation, copy, silent, served, lost, everTop,
                   everRead, cell, twice>>

AskGrant(m, verb) ==
    /\ member[m].intact
    /\ Send(Ask(m, verb, NoClaim, 0))
    /\ member' = [member EXCEPT ![m].awaits = sent + 1]

AskRenew(m) ==
    /\ member[m].intact /\ member[m].claim.token # 0
    /\ Send(Ask(m, "renew", member[m].claim, 0))
    /\ member' = [member EXCEPT ![m].awaits = sent + 1]

\* Close, then release: the end of issuing also decides what is given back.
AskRelease(m) == \E used \in 0 .. end :
    LET held == member[m].claim
        closes == Whole("release before close")
    IN  /\ Later(member[m].next, held.start) <= used /\ used <= held.until
        /\ member[m].intact \/ ~Whole("child releases")
        /\ held.token # 0
        /\ Send(Ask(m, "release", held, used))
        /\ member' = [member EXCEPT ![m].awaits = sent + 1,
                                    ![m].claim = IF closes THEN NoClaim ELSE @]

Adopted(mem, reply) ==
    LET heard == [mem EXCEPT !.awaits = 0, !.seen = reply.seen]
        claim == reply.claim
    IN IF claim = NoClaim
       THEN IF reply.verb = "release" THEN [heard EXCEPT !.claim = NoClaim] ELSE heard
       ELSE IF reply.verb = "renew"
       \* A bare reply has an end, and does not name its claim.
       THEN [heard EXCEPT !.claim.until = Later(@, claim.until)]
       ELSE [heard EXCEPT !.claim = claim, !.next = Later(@, claim.start)]

Receive(m) == \E reply \in replies :
    /\ reply.to = m /\ member[m].intact
    /\ IF Whole("bare reply") THEN reply.nonce = member[m].awaits
       ELSE reply.verb = "renew" => Holds(m)
    /\ member' = [member EXCEPT ![m] = Adopted(member[m], reply)]
    /\ replies' = replies \ {reply}
    /\ UNCHANGED <<record, incarnation, copy, silent, network, sent, served, lost,
                   everTop, everRead, cell, twice>>

Issue(m) == \E tick \in Ticks :
    LET id == <<member[m].claim.slot, tick>> IN
    /\ Holds(m)
    /\ member[m].intact \/ ~Whole("fork unnoticed")
    /\ member[m].next <= tick /\ member[m].claim.start <= tick
    /\ tick < member[m].claim.until
    /\ cell \in {<<>>, id} /\ ~twice
    /\ cell' = id
    /\ twice' = (cell = id)
    /\ member' = [member EXCEPT ![m].next = tick + 1]
    /\ UNCHANGED <<record, incarnation, copy, silent, network, replies, sent, served,
                   lost, everTop, everRead>>

\* The process dies, and another of the same name starts.
Crash(m) ==
    /\ "crash" \in faults \/ ~member[m].intact
    /\ member[m] # Fresh
    /\ member' = [member EXCEPT ![m] = Fresh]
    /\ replies' = {r \in replies : r.to # m}
    /\ UNCHANGED <<record, incarnation, copy, silent, network, sent, served, lost, everTop,
                   everRead, cell, twice>>

\* The child has its parent's memory, and a page that the kernel wiped. It notices that, and can
\* only start again (Crash).
Fork(m, child) ==
    /\ "fork" \in faults
    /\ Holds(m) /\ member[m].intact /\ member[child] = Fresh
    /\ member' = [member EXCEPT ![child] = [member[m] EXCEPT
           !.intact = FALSE, !.seen = Unheard, !.awaits = 0]]
    /\ UNCHANGED <<record, incarnation, copy, silent, network, replies, sent, served,
                   lost, everTop, everRead, cell, twice>>

-----------------------------------------------------------------------------
(* The store serves requests, and forgets. *)

\* The assumption about the clock across a loss: it is not behind the highest now ever used, unless
\* the record or the asking member remembers that.
Covered(ask, t) ==
    IF Whole("no memory") THEN Max({t, record.top, ask.seen.now}) >= everTop
    ELSE t >= everRead

Serve(verb) == \E ask \in network, t \in Ticks :
    /\ ask.verb = verb /\ served < serves
    /\ "late" \in faults \/ member[ask.from].awaits = ask.nonce
    /\ IsLoss(record, ask) /\ lost > 0 => Covered(ask, t)
    /\ silent => IsLoss(record, ask)
    /\ LET arrived == Arrive(record, ask, t)
           outcome == CASE verb = "grant" -> Grant(arrived, ask)
                        [] verb = "mint" -> Mint(arrived, ask)
                        [] verb = "renew" -> Renew(arrived, ask)
                        [] verb = "release" -> Release(arrived, ask)
           seen == [sid |-> arrived.sid, revision |-> arrived.revision, now |-> Now(arrived)]
           reply == [to |-> ask.from, nonce |-> ask.nonce, verb |-> verb,
                     claim |-> outcome.claim, seen |-> seen]
       IN /\ record' = outcome.record
          /\ replies' = IF member[ask.from].awaits = ask.nonce \/ ~Whole("bare reply")
                        THEN replies \cup {reply} ELSE replies
          /\ everTop' = Later(everTop, Now(arrived))
    /\ everRead' = IF Whole("no memory") THEN 0 ELSE Later(everRead, t)
    /\ served' = served + 1
    /\ silent' = FALSE
    /\ network' = IF "late" \in faults THEN network ELSE network \ {ask}
    /\ UNCHANGED <<incarnation, copy, member, sent, lost, cell, twice>>

\* An operator initialises the namespace as new, which it is. A store that takes each missing record
\* for a new one (a new file, an empty server) would do the same after a loss.
Initialise ==
    /\ record = NoRecord /\ (lost = 0 \/ ~Whole("first use waits"))
    /\ \E t \in Ticks :
        /\ t >= everTop
        /\ record' = [TellTime(NoRecord, t) EXCEPT !.sid = requests + 1]
        /\ everTop' = t
        /\ everRead' = IF Whole("no memory") THEN 0 ELSE t
    /\ UNCHANGED <<incarnation, copy, silent, member, network, replies, sent, served, lost,
                   cell, twice>>

Copy ==
    /\ lost < losses /\ record.sid # 0 /\ copy # record
    /\ copy' = record
    /\ UNCHANGED <<record, incarnation, silent, member, network, replies, sent, served,
                   lost, everTop, everRead, cell, twice>>

\* All data is lost, or an older state is restored. The incarnation shows it; otherwise the first
\* member to return remembers more.
Lose ==
    /\ lost < losses /\ record.sid # 0
    /\ lost' = lost + 1
    /\ \/ record' = NoRecord /\ silent' = FALSE /\ UNCHANGED incarnation
       \/ /\ record' = copy
          /\ \/ incarnation' = incarnation + 1 /\ silent' = FALSE
             \/ /\ copy # record /\ Whole("no memory")
                /\ silent' = TRUE /\ UNCHANGED incarnation
    /\ UNCHANGED <<copy, member, network, replies, sent, served, everTop, everRead, cell, twice>>

-----------------------------------------------------------------------------
Init ==
    /\ record = NoRecord /\ copy = NoRecord /\ incarnation = 0 /\ silent = FALSE
    /\ member = [m \in Members |-> Fresh]
    /\ network = {} /\ replies = {} /\ sent = 0 /\ served = 0 /\ lost = 0
    /\ everTop = 0 /\ everRead = 0
    /\ cell = <<>> /\ twice = FALSE

Next ==
    \/ Initialise \/ Copy \/ Lose
    \/ Serve("grant") \/ Serve("mint") \/ Serve("renew") \/ Serve("release")
    \/ \E m \in Members :
        \/ AskGrant(m, "grant") \/ AskGrant(m, "mint") \/ AskRenew(m) \/ AskRelease(m)
        \/ Receive(m) \/ Issue(m) \/ Crash(m)
        \/ \E child \in Members \ {m} : Fork(m, child)

Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Members)

-----------------------------------------------------------------------------
(* What must hold. I5 is not a state: it is that requests are lost, late and repeated above. *)

NoIdTwice == ~twice

Owners == {m \in Members : Holds(m) /\ member[m].intact}

\* I0: nothing at or beyond now + horizon is ever given.
HorizonHolds ==
    /\ \A n \in Slots : record.slot[n].until <= everTop + horizon
    /\ \A m \in Owners : member[m].claim.until <= everTop + horizon

\* I1 as a state: a member's claim is below the floor, unless a loss is not yet noticed.
Noticed == record.sid # 0 /\ record.incarnation = incarnation /\ ~silent
HeldIsBelowFloor ==
    Noticed => \A m \in Owners : member[m].claim.until <= Floor(record, member[m].claim.slot)

\* I1 as a step: a floor falls only in a release or a loss.
FloorNeverFalls == [][
    (lost' = lost /\ \A ask \in network : ask.verb # "release")
        => \A n \in Slots : Floor(record', n) >= Floor(record, n)]_record

\* I2: claims on one slot are disjoint.
ClaimsAreDisjoint == \A m, k \in Owners :
    LET a == member[m].claim  b == member[k].claim
    IN m # k /\ a.slot = b.slot => a.until <= b.start \/ b.until <= a.start

\* I3: a claim has one owner.
OneOwner == \A m, k \in Owners :
    m # k /\ member[m].claim.token # 0 => member[m].claim.token # member[k].claim.token

\* I4: the cursor stays in the claim, and never falls in one life.
CursorIsInside == \A m \in Owners : member[m].next <= end
CursorNeverFalls == [][\A m \in Members :
    member'[m].next >= member[m].next \/ member'[m] = Fresh]_member

\* A member that reaches the store gets a claim: after at most one "wait", to notice a loss, and
\* one horizon (longer while the offset shrinks) until the guard has passed. The end of time is
\* excluded.
Reachable(ask) ==
    LET first == Arrive(record, ask, everTop + horizon)
        second == Arrive(first, ask, first.last + 4 * horizon)
        n == Chosen(second)
    IN Later(Floor(second, n), Now(second)) < Now(second) + horizon
MemberGetsClaim == \A m \in Members : Reachable(Ask(m, "grant", NoClaim, 0))
=============================================================================
