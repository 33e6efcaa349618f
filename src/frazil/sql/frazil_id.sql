-- frazil_id('orders'): IDs made inside PostgreSQL (12 or newer), as a column's DEFAULT:
--
--     CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT frazil_id('orders'), ...);
--
-- This text makes the table and the function, and changes no existing data. `frazil init URL
-- --namespace orders --sql` applies it and sets up a namespace. The role that applies it owns them,
-- so that no other role can change what they keep; other roles need:
--
--     GRANT EXECUTE ON FUNCTION frazil_id(text) TO app;
--
-- A cell is (tick, sequence) as one number. The last cell given away only grows, and the namespace
-- has a node number that no other member of it gets: so no ID repeats. What must survive a ROLLBACK
-- is kept in sequences, because a transaction that is rolled back has shown its IDs to its client.
-- A sequence is written to the disk later than it is used; docs/how-to/sql.md says why no ID
-- repeats nevertheless.

CREATE TABLE IF NOT EXISTS @schema@.frazil_ids (
    name           text PRIMARY KEY,
    node           bigint  NOT NULL, -- reserved in the record of frazil_namespace
    base           bigint  NOT NULL, -- the ID with this node, tick 0 and sequence 0
    time_shift     integer NOT NULL,
    sequence_shift integer NOT NULL,
    sequence_bits  integer NOT NULL,
    ticks          bigint  NOT NULL, -- the first tick that does not exist
    tick_us        bigint  NOT NULL,
    epoch_us       bigint  NOT NULL, -- since 1970
    horizon        bigint  NOT NULL, -- in ticks
    block          bigint  NOT NULL, -- cells that a session takes at a time: the CACHE of "cell"
    cell           regclass NOT NULL, -- the last cell taken by a session; all else may be restored
    mark           regclass NOT NULL, -- a tick that is written to the disk before IDs are used
    kept           regclass NOT NULL, -- the mark that is known to be on the disk
    ahead          regclass NOT NULL, -- us that are added to the clock, which never goes back
    life           regclass NOT NULL, -- which server wrote all this
    lost           regclass NOT NULL, -- 1 if the record no longer reserves the node
    number         integer  NOT NULL  -- of the names of its sequences
);

-- A table that an older version made. Its calls end before it changes.
DO $frazil$ DECLARE
    i record;
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_attribute
        WHERE attrelid = '@schema@.frazil_ids'::regclass AND attname = 'guard')
    THEN
        LOCK TABLE @schema@.frazil_ids IN ACCESS EXCLUSIVE MODE;
        FOR i IN SELECT guard FROM @schema@.frazil_ids LOOP
            EXECUTE format('DROP SEQUENCE %s', i.guard);
        END LOOP;
        ALTER TABLE @schema@.frazil_ids DROP COLUMN guard, ADD COLUMN number integer;
        UPDATE @schema@.frazil_ids SET number = substring(cell::text FROM '(\d+)_cell')::integer;
        ALTER TABLE @schema@.frazil_ids ALTER COLUMN number SET NOT NULL;
    END IF;
END $frazil$;

CREATE SEQUENCE IF NOT EXISTS @schema@.frazil_ids_number OWNED BY @schema@.frazil_ids.name;

ALTER TABLE @schema@.frazil_namespace ADD COLUMN IF NOT EXISTS ids_node bigint;

-- A record that is created again does not know that the node is reserved, and grants it to a
-- generator one horizon later. This trigger notes such a record in a sequence: no snapshot hides
-- its value, not even from a REPEATABLE READ transaction that began before.
CREATE OR REPLACE FUNCTION @schema@.frazil_ids_lost() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $frazil$
BEGIN
    PERFORM setval(i.lost, 1) FROM @schema@.frazil_ids AS i
        WHERE i.name = NEW.name AND i.node IS DISTINCT FROM NEW.ids_node;
    RETURN NULL;
END
$frazil$;

DO $frazil$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_trigger
        WHERE tgrelid = '@schema@.frazil_namespace'::regclass AND tgname = 'frazil_ids_lost')
    THEN
        CREATE TRIGGER frazil_ids_lost AFTER INSERT OR UPDATE OF ids_node
            ON @schema@.frazil_namespace
            FOR EACH ROW EXECUTE FUNCTION @schema@.frazil_ids_lost();
    END IF;
END $frazil$;

-- frazil_id('orders', after => 1426172169536143360): an ID greater than one that was seen, as of a
-- message; then the order of the numbers agrees with cause and effect. An ID made in the same tick by
-- a greater node number, or by a host whose clock is ahead, makes this call wait, and no other one.
-- An ID later than all that members of the namespace can have made is an error, or is passed over
-- if it is not trusted (frazil.generator.order has the bound).
CREATE OR REPLACE FUNCTION @function@.frazil_id(
    namespace text, after bigint, trusted boolean DEFAULT true
) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $frazil$
DECLARE
    c @schema@.frazil_ids;
    made bigint;
    seen bigint; -- the tick of "after"
    now bigint; -- that of the ID that was made
BEGIN
    LOOP
        made := @function@.frazil_id(namespace);
        IF after IS NULL OR made > after THEN
            RETURN made;
        END IF;
        SELECT * INTO c FROM @schema@.frazil_ids AS i WHERE i.name = namespace;
        -- With another constant, or another node number above the time, it is no tick at all.
        seen := (after >> c.time_shift) - (c.base >> c.time_shift);
        now := (made >> c.time_shift) - (c.base >> c.time_shift);
        IF seen NOT BETWEEN now AND now + c.horizon + 60000000 / c.tick_us + 1
            OR seen >= c.ticks OR c.sequence_shift > c.time_shift
        THEN
            IF NOT trusted THEN
                RETURN made;
            END IF;
            RAISE EXCEPTION 'frazil_id: no process of namespace % can have made % before %',
                quote_literal(namespace), after, made
                USING ERRCODE = 'invalid_parameter_value', HINT = 'Check where it came from. '
                    'trusted => false goes on without it. The scheme must have its time first.';
        END IF;
        PERFORM pg_sleep(least((seen + 1 - now) * c.tick_us, 1000000) / 1e6);
    END LOOP;
END
$frazil$;

CREATE OR REPLACE FUNCTION @function@.frazil_id(namespace text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $frazil$
DECLARE
    c @schema@.frazil_ids;
    life bigint; -- null if it need not be compared
    reading_us bigint;
    ahead_us bigint;
    now_us bigint;
    behind_us bigint;
    passed_us bigint;
    cell bigint;
    seal bigint; -- 0 if the last to write the cell was not this function
    kept bigint;
    first bigint; -- the tick of the next cell
    tick bigint;
    wait_us bigint;
    waits boolean; -- until the first tick, because of a loss
    renew boolean;
    gone boolean;
    made bigint;
BEGIN
    SELECT * INTO c FROM @schema@.frazil_ids AS i WHERE i.name = namespace;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'frazil_id: namespace % is not set up', quote_nullable(namespace)
            USING ERRCODE = 'undefined_object',
                  HINT = 'Run: frazil init postgresql://... --namespace NAME --sql';
    END IF;
    BEGIN
        -- What is left of the block of cells that this session took, if its tick is not over. The
        -- last value that a session got, and its cache, are its own, and no rollback changes them.
        -- A setval() of this session or an ALTER SEQUENCE empties the cache.
        cell := currval(c.cell);
        tick := ((date_part('epoch', clock_timestamp()) * 1000000)::bigint
            + pg_sequence_last_value(c.ahead) - c.epoch_us) / c.tick_us;
        IF (CASE WHEN cell >> c.sequence_bits = tick AND (cell + 1) % c.block <> 0
                AND pg_sequence_last_value(c.cell) >= cell | (c.block - 1)
            THEN nextval(c.cell) = cell + 1 END)
        THEN
            RETURN c.base | (tick << c.time_shift)
                | (((cell + 1) & ((1::bigint << c.sequence_bits) - 1)) << c.sequence_shift);
        END IF;
    EXCEPTION WHEN object_not_in_prerequisite_state THEN
        life := @life@; -- this session has taken none yet
    END;
    -- This takes the locks of the sequences before that of the namespace. Else the session that
    -- holds the latter can wait for an ALTER SEQUENCE, which waits for a statement that wants it.
    kept := greatest(pg_sequence_last_value(c.cell), pg_sequence_last_value(c.mark),
        pg_sequence_last_value(c.kept), pg_sequence_last_value(c.ahead),
        pg_sequence_last_value(c.life), pg_sequence_last_value(c.lost));
    LOOP
        -- The lock ends with this block, whether it succeeds, fails or is cancelled. A lock of the
        -- session would outlive a cancelled statement, and one of the transaction would make every
        -- other transaction wait for this one's end.
        BEGIN
            renew := pg_advisory_xact_lock(738492610, c.cell::oid::integer) IS NULL;
            -- Whatever sets a sequence or begins it again, like a restored dump, sets its
            -- "log_cnt" to 0, and nextval() leaves 32. Only a statement with its name can read it.
            IF c.number > @statements@ THEN
                EXECUTE format('SELECT s.last_value, s.log_cnt FROM %s AS s', c.cell)
                    INTO cell, seal;
@reads@
            END IF;
            IF cell IS NULL THEN
                RAISE EXCEPTION 'frazil_id: another sequence has the name of %', c.cell
                    USING ERRCODE = 'object_not_in_prerequisite_state',
                          HINT = 'Begin a new transaction, or give the sequence its name again.';
            END IF;
            ahead_us := coalesce(pg_sequence_last_value(c.ahead), 0);
            kept := coalesce(pg_sequence_last_value(c.kept), 0);
            reading_us := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
            now_us := reading_us + ahead_us;
            first := (cell + 1) >> c.sequence_bits;
            waits := first > kept + greatest(c.horizon / 4, 1); -- no ID has such a tick yet
            -- The clock never goes back: a step back is added to what it says from then on.
            behind_us := c.epoch_us - now_us + c.tick_us
                * CASE WHEN waits THEN first - c.horizon - 1 ELSE cell >> c.sequence_bits END;
            IF behind_us > 0 THEN
                ahead_us := setval(c.ahead, ahead_us + behind_us);
                now_us := reading_us + ahead_us;
            END IF;
            tick := (now_us - c.epoch_us) / c.tick_us;
            wait_us := CASE WHEN waits THEN c.epoch_us + first * c.tick_us - now_us ELSE 0 END;
            renew := wait_us <= 0 AND (tick < kept OR tick >= kept + c.horizon / 4);
            IF renew AND life IS NULL
                AND current_setting('transaction_isolation') = 'read committed'
            THEN
                life := @life@; -- names can change under a session
            END IF;
            IF seal = 0 OR life <> coalesce(pg_sequence_last_value(c.life), -1) THEN
                IF EXISTS (SELECT FROM pg_locks AS l WHERE l.pid = pg_backend_pid()
                        AND l.relation = c.cell
                        AND l.mode IN ('ShareRowExclusiveLock', 'AccessExclusiveLock'))
                    OR NOT EXISTS (SELECT FROM pg_sequence AS s WHERE s.seqrelid = c.cell
                        AND s.seqincrement = 1 AND s.seqcache = c.block)
                THEN
                    RAISE EXCEPTION 'frazil_id: % was altered', c.cell
                        USING ERRCODE = 'object_not_in_prerequisite_state', HINT = format(
                            'Commit, and if that is not enough: ALTER SEQUENCE %s INCREMENT 1 '
                            'CACHE %s', c.cell, c.block);
                END IF;
                -- One horizon after all that is known. What this session has of the block would be
                -- too early.
                tick := greatest(tick, pg_sequence_last_value(c.mark));
                first := CASE WHEN waits THEN greatest(first, tick + c.horizon)
                    ELSE greatest(first, tick) + c.horizon END;
                cell := (first << c.sequence_bits) - 1;
                PERFORM CASE setval(c.cell, cell) WHEN cell THEN nextval(c.cell) END;
                PERFORM nextval(c.cell) FROM generate_series(2, c.block);
                IF currval(c.cell) <> cell + c.block THEN
                    PERFORM setval(c.cell, cell); -- another program set it meanwhile
                ELSIF life IS NOT NULL THEN
                    PERFORM setval(c.life, life);
                    life := NULL;
                END IF;
                wait_us := 0;
                RAISE SQLSTATE 'FRZ01'; -- as below
            END IF;
            life := NULL;
            gone := pg_sequence_last_value(c.lost) <> 0;
            IF renew AND NOT gone THEN
                gone := c.node IS DISTINCT FROM (SELECT n.ids_node
                    FROM @schema@.frazil_namespace AS n WHERE n.name = namespace);
            END IF;
            IF gone THEN
                RAISE EXCEPTION 'frazil_id: node number % of namespace % is not reserved any more',
                    c.node, quote_literal(namespace)
                    USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format(
                            'Its record was made again, or setval() was used on %s.', c.lost),
                          HINT = 'Run: frazil init postgresql://... --namespace NAME --sql';
            END IF;
            IF renew THEN
                IF ahead_us > 0 THEN
                    passed_us := greatest(0, now_us - c.epoch_us - kept * c.tick_us);
                    IF passed_us <= 60000000 OR 2 * passed_us <= ahead_us THEN
                        passed_us := passed_us / 8;
                    END IF;
                    -- It stays after the last cell.
                    ahead_us := setval(c.ahead, greatest(ahead_us - passed_us,
                        c.epoch_us + (CASE WHEN waits THEN first ELSE cell >> c.sequence_bits END)
                            * c.tick_us - reading_us, 0));
                    now_us := reading_us + ahead_us;
                    tick := (now_us - c.epoch_us) / c.tick_us;
                END IF;
                PERFORM setval(c.mark, tick);
                IF current_setting('server_version_num')::integer >= 170000 THEN
                    PERFORM pg_logical_emit_message(false, 'frazil_id', '', true);
                END IF;
                PERFORM setval(c.kept, tick);
            END IF;
            IF now_us < c.epoch_us OR tick >= c.ticks THEN
                RAISE EXCEPTION 'frazil_id: % us since 1970 is outside the time field of %',
                    now_us, quote_literal(namespace)
                    USING ERRCODE = 'object_not_in_prerequisite_state',
                          HINT = 'Set the clock, or use a layout with more bits of time.';
            END IF;
            IF wait_us <= 0 THEN
                cell := greatest(cell + 1, tick << c.sequence_bits);
                IF cell >> c.sequence_bits > tick THEN
                    wait_us := c.epoch_us + (tick + 1) * c.tick_us - now_us;
                -- In one expression, which no cancellation interrupts: the sequence has its seal
                -- again, and this session the rest of the block.
                ELSIF (CASE setval(c.cell, cell - 1) WHEN cell - 1 THEN nextval(c.cell) END) = cell
                THEN
                    made := c.base | (tick << c.time_shift)
                        | ((cell & ((1::bigint << c.sequence_bits) - 1)) << c.sequence_shift);
                ELSE
                    PERFORM setval(c.cell, cell); -- another program set it meanwhile
                END IF;
            END IF;
            RAISE SQLSTATE 'FRZ01'; -- ends the block and its lock; sequences keep their values
        EXCEPTION WHEN SQLSTATE 'FRZ01' THEN
            NULL;
        END;
        IF made IS NOT NULL THEN
            RETURN made;
        END IF;
        PERFORM pg_sleep(least(wait_us, 1000000) / 1e6);
    END LOOP;
END
$frazil$;

REVOKE ALL ON FUNCTION @function@.frazil_id(text), @function@.frazil_id(text, bigint, boolean),
    @schema@.frazil_ids_lost() FROM PUBLIC;
REVOKE ALL ON TABLE @schema@.frazil_ids FROM PUBLIC;
