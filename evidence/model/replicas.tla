------------------------------ MODULE replicas ------------------------------
(***************************************************************************)
(* A store of three nodes that replicate asynchronously, as Redis with     *)
(* ?replicas=1 (src/frazil/registries/redis/registry.py): a grant counts   *)
(* after WAIT and after a second, equal reading of the incarnation.        *)
(*                                                                         *)
(* Any replica may be promoted while the old primary continues to serve.   *)
(* Any node may attach to any primary, lose its data and copy the          *)
(* primary's. Replication may lag. One slot is enough. All clocks are      *)
(* equal here: claims.tla is about clocks.                                 *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
    Nodes,      \* as model values
    horizon,    \* how many ticks ahead of now are given at most
    end,        \* the last tick of the model
    grants,     \* how many are requested in all
    promotions, \* how often a replica becomes a primary
    attaches,   \* how often a node changes the primary that it follows
    broken      \* the rules that are left out

Canaries == {"no wait", "no second reading", "attach unseen", "no guard"}
ASSUME broken \subseteq Canaries

VARIABLES
    now,
    of,        \* the primary that each node follows; a primary follows itself
    record,    \* each node's copy
    replid,    \* of each primary, new at each promotion
    attached,  \* how often a replica attached to each primary (sync_full, sync_partial_ok)
    waiting,   \* the grant of each primary that is not counted yet
    counted,   \* the regions that members accepted
    twice,     \* whether two of them overlap
    asked, promoted, moved

vars == <<now, of, record, replid, attached, waiting, counted, twice, asked, promoted, moved>>

Later(a, b) == IF a >= b THEN a ELSE b
Earlier(a, b) == IF a <= b THEN a ELSE b
Whole(rule) == rule \notin broken
Primaries == {n \in Nodes : of[n] = n}
Incarnation(p) == <<replid[p], IF Whole("attach unseen") THEN attached[p] ELSE 0>>
Nothing == [revision |-> 0, start |-> 0, until |-> 0, incarnation |-> <<0, 0>>, acked |-> FALSE]

Tick == /\ now < end /\ now' = now + 1
        /\ UNCHANGED <<of, record, replid, attached, waiting, counted, twice, asked, promoted,
                       moved>>

Grant(p) ==
    LET old == record[p]
        lost == old.incarnation # Incarnation(p)
        guard == IF lost /\ Whole("no guard") THEN Later(old.guard, now + horizon) ELSE old.guard
        start == Later(Later(old.until, guard), now)
        until == Later(old.until, IF start < now + horizon THEN now + horizon ELSE old.until)
    IN  /\ asked < grants /\ waiting[p] = Nothing
        /\ record' = [record EXCEPT ![p] = [revision |-> old.revision + 1, until |-> until,
               guard |-> guard, incarnation |-> Incarnation(p)]]
        /\ waiting' = IF start >= now + horizon THEN waiting
                      ELSE [waiting EXCEPT ![p] = [revision |-> old.revision + 1, start |-> start,
                          until |-> until, incarnation |-> Incarnation(p),
                          acked |-> ~Whole("no wait")]]
        /\ asked' = asked + 1
        /\ UNCHANGED <<now, of, replid, attached, counted, twice, promoted, moved>>

Replicate(p, r) ==
    /\ of[r] = p /\ r # p /\ record[r] # record[p]
    /\ record' = [record EXCEPT ![r] = record[p]]
    /\ UNCHANGED <<now, of, replid, attached, waiting, counted, twice, asked, promoted, moved>>

\* WAIT 1 returns.
Acknowledge(p, r) ==
    /\ of[r] = p /\ r # p /\ waiting[p] # Nothing /\ ~waiting[p].acked
    /\ record[r].revision >= waiting[p].revision
    /\ waiting' = [waiting EXCEPT ![p].acked = TRUE]
    /\ UNCHANGED <<now, of, record, replid, attached, counted, twice, asked, promoted, moved>>

\* The member reads the incarnation again, and accepts the claim or discards it.
Count(p) ==
    LET claim == waiting[p]
        same == claim.incarnation = Incarnation(p) \/ ~Whole("no second reading")
        region == <<claim.start, claim.until>>
    IN  /\ claim # Nothing /\ claim.acked
        /\ waiting' = [waiting EXCEPT ![p] = Nothing]
        /\ counted' = IF same THEN counted \cup {region} ELSE counted
        /\ twice' = (twice \/ (same /\ \E other \in counted :
                                 other[1] < region[2] /\ region[1] < other[2]))
        /\ UNCHANGED <<now, of, record, replid, attached, asked, promoted, moved>>

Promote(r) ==
    /\ promoted < promotions /\ of[r] # r
    /\ promoted' = promoted + 1
    /\ of' = [of EXCEPT ![r] = r]
    /\ replid' = [replid EXCEPT ![r] = promoted + 1]
    /\ attached' = [attached EXCEPT ![r] = 0]
    /\ UNCHANGED <<now, record, waiting, counted, twice, asked, moved>>

Attach(r, p) ==
    /\ moved < attaches /\ p \in Primaries /\ r # p /\ of[r] # p
    /\ \A n \in Nodes \ {r} : of[n] # r
    /\ moved' = moved + 1
    /\ of' = [of EXCEPT ![r] = p]
    /\ record' = [record EXCEPT ![r] = record[p]]
    /\ attached' = [attached EXCEPT ![p] = @ + 1]
    /\ waiting' = [waiting EXCEPT ![r] = Nothing]
    /\ UNCHANGED <<now, replid, counted, twice, asked, promoted>>

Init ==
    /\ now = 0 /\ counted = {} /\ twice = FALSE
    /\ of \in {[n \in Nodes |-> p] : p \in Nodes}
    /\ record = [n \in Nodes |-> [revision |-> 0, until |-> 0, guard |-> 0,
                                  incarnation |-> <<0, 0>>]]
    /\ replid = [n \in Nodes |-> 0] /\ attached = [n \in Nodes |-> 0]
    /\ waiting = [n \in Nodes |-> Nothing]
    /\ asked = 0 /\ promoted = 0 /\ moved = 0

Next ==
    \/ Tick
    \/ \E p \in Primaries : Grant(p) \/ Count(p)
    \/ \E p, r \in Nodes : Replicate(p, r) \/ Acknowledge(p, r) \/ Attach(r, p)
    \/ \E r \in Nodes : Promote(r)

Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Nodes)

ClaimsAreDisjoint == ~twice
=============================================================================
