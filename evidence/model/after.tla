------------------------------- MODULE after --------------------------------
(***************************************************************************)
(* IDs after those that were seen: ``advance`` of src/frazil/walk/walk.py, *)
(* whose names these are. How claims are granted is in claims.tla; here a  *)
(* member gets ticks up to a horizon ahead of now, and its successor on    *)
(* the slot begins where they end, while it may still use them.            *)
(*                                                                         *)
(* Hosts' clocks differ, and any ID that was made may be seen by any       *)
(* member, and so may one that nobody made, up to the bound. An ID is a    *)
(* tick, the node below it, and the cell below that, so IDs of a lower     *)
(* node in the same tick are less.                                         *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
    nodes,      \* node numbers, each with one member and its successor
    cells,      \* of a tick
    horizon,    \* how many ticks ahead of now a claim reaches at most
    lead,       \* how many ticks ahead of its clock a member makes IDs
    skew,       \* how far a member's clock may be ahead of the registry's
    end,        \* the last moment
    broken      \* the rules that are left out

Canaries == {"ignores seen", "compares the time only", "jumps without the claim",
             "pinned at the bound"}
ASSUME broken \subseteq Canaries

VARIABLES
    now,        \* the registry's clock
    ahead,      \* how far each node's members are ahead of it
    walk,       \* of each node, of a member and its successor: the claim and the next cell
    made,       \* the IDs
    twice, inverted

vars == <<now, ahead, walk, made, twice, inverted>>

Nodes == 1 .. nodes
Whole(rule) == rule \notin broken
Later(a, b) == IF a >= b THEN a ELSE b
Ticks == 0 .. end + horizon + 1

ID(tick, node, cell) == (tick * (nodes + 1) + node) * cells + cell
TickOf(id) == (id \div cells) \div (nodes + 1)
NodeOf(id) == (id \div cells) % (nodes + 1)
CellOf(id) == id % cells

NoWalk == [until |-> 0, tick |-> 0, cell |-> 0, last |-> -1]
Due(node) == now + ahead[node] + lead

\* The next cell is in the past or of this tick; one in the past is passed over.
Ready(node, w) ==
    IF w.tick < now THEN [w EXCEPT !.tick = now, !.cell = 0] ELSE w

\* The first cell after ``seen``; a node above that of ``seen`` may stay in its tick.
Advanced(node, w, seen) ==
    LET tick == TickOf(seen)
        same == NodeOf(seen) = node /\ CellOf(seen) + 1 < cells
        later == NodeOf(seen) < node
        first == IF ~Whole("compares the time only") THEN [w EXCEPT !.tick = tick, !.cell = 0]
                 ELSE IF same THEN [w EXCEPT !.tick = tick, !.cell = CellOf(seen) + 1]
                 ELSE IF later THEN [w EXCEPT !.tick = tick, !.cell = 0]
                 ELSE [w EXCEPT !.tick = tick + 1, !.cell = 0]
    IN  IF ~Whole("ignores seen") \/ ID(w.tick, node, w.cell) >= ID(first.tick, node, first.cell)
        THEN w ELSE first

Free(node, w) == w.tick <= Due(node) /\ w.tick < w.until

Make(node, i, w, seen) ==
    LET id == ID(w.tick, node, w.cell)
    IN  /\ made' = made \cup {id}
        /\ twice' = (twice \/ id \in made)
        /\ inverted' = (inverted \/ id <= seen \/ id <= w.last)
        /\ walk' = [walk EXCEPT ![node][i] =
               [w EXCEPT !.last = id,
                   !.tick = IF w.cell + 1 = cells THEN @ + 1 ELSE @,
                   !.cell = (@ + 1) % cells]]
        /\ UNCHANGED <<now, ahead>>

Call(node, i) ==
    LET w == Ready(node, walk[node][i])
    IN  Free(node, w) /\ Make(node, i, w, -1)

\* A seen ID beyond what the namespace can have made is refused.
After(node, i, seen) ==
    LET before == Ready(node, walk[node][i])
        w == Advanced(node, before, seen)
    IN  /\ TickOf(seen) <= now + horizon
        /\ before.tick < before.until
        /\ \/ /\ w.tick <= Due(node)
              /\ w.tick < w.until \/ ~Whole("jumps without the claim")
              /\ Make(node, i, w, seen)
           \/ /\ w.tick > Due(node) /\ ~Whole("pinned at the bound")
              /\ walk' = [walk EXCEPT ![node][i] = w]
              /\ UNCHANGED <<now, ahead, made, twice, inverted>>

\* The first member of a node claims and renews; its successor begins at the end of its claim.
Renew(node) ==
    /\ walk[node][2].until = 0 /\ walk[node][1].until < now + horizon
    /\ walk' = [walk EXCEPT ![node][1].until = now + horizon]
    /\ UNCHANGED <<now, ahead, made, twice, inverted>>

Succeed(node) ==
    LET start == Later(walk[node][1].until, now)
    IN  /\ walk[node][2].until = 0 /\ start < now + horizon
        /\ walk' = [walk EXCEPT ![node][2] =
               [NoWalk EXCEPT !.until = now + horizon, !.tick = start]]
        /\ UNCHANGED <<now, ahead, made, twice, inverted>>

Tick ==
    /\ now < end /\ now' = now + 1
    /\ UNCHANGED <<ahead, walk, made, twice, inverted>>

Init ==
    /\ now = 0 /\ ahead \in [Nodes -> {0, skew}]
    /\ walk = [n \in Nodes |-> <<NoWalk, NoWalk>>]
    /\ made = {} /\ twice = FALSE /\ inverted = FALSE

Next ==
    \/ Tick
    \/ \E node \in Nodes : Renew(node) \/ Succeed(node)
    \/ \E node \in Nodes, i \in {1, 2} :
           \/ Call(node, i)
           \/ \E seen \in made : After(node, i, seen)
           \/ \E tick \in Ticks : After(node, i, ID(tick, 0, 0)) \* forged

Spec == Init /\ [][Next]_vars

NoIdTwice == ~twice
\* I6, for what was seen and for the member's own IDs.
Greater == ~inverted
\* No ID that was seen lets a caller without one wait: the next cell is due, or the one after it.
NobodyElseWaits ==
    \A node \in Nodes, i \in {1, 2} :
        LET w == walk[node][i] IN w.last >= 0 => w.tick <= Due(node) + 1
=============================================================================
