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
    cell           regclass NOT NULL, -- the last cell taken by a session
    mark           regclass NOT NULL, -- a tick that is written to the disk before IDs are used
    kept           regclass NOT NULL, -- the mark that is known to be on the disk
    ahead          regclass NOT NULL, -- us that are added to the clock, which never goes back
    guard          regclass NOT NULL, -- the first tick that may be used after a loss
    life           regclass NOT NULL, -- which server wrote all this
    lost           regclass NOT NULL  -- 1 if the record no longer reserves the node
);

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

CREATE OR REPLACE FUNCTION @function@.frazil_id(namespace text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $frazil$
DECLARE
    c @schema@.frazil_ids;
    life bigint; -- null if this session has taken cells before: it does not outlive its server
    reading_us bigint;
    ahead_us bigint;
    now_us bigint;
    passed_us bigint;
    cell bigint;
    floor_us bigint;
    tick bigint;
    wait_us bigint;
    renew boolean;
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
        cell := currval(c.cell);
        reading_us := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
        tick := (reading_us + pg_sequence_last_value(c.ahead) - c.epoch_us) / c.tick_us;
        IF (cell + 1) % c.block <> 0 AND cell >> c.sequence_bits >= tick THEN
            cell := nextval(c.cell);
            RETURN c.base | ((cell >> c.sequence_bits) << c.time_shift)
                | ((cell & ((1::bigint << c.sequence_bits) - 1)) << c.sequence_shift);
        END IF;
    EXCEPTION WHEN object_not_in_prerequisite_state THEN
        life := @life@; -- this session has taken none yet
    END;
    LOOP
        -- The lock ends with this block, whether it succeeds, fails or is cancelled. A lock of the
        -- session would outlive a cancelled statement, and one of the transaction would make every
        -- other transaction wait for this one's end.
        BEGIN
            PERFORM pg_advisory_xact_lock(738492610, c.cell::oid::integer);
            cell := pg_sequence_last_value(c.cell);
            ahead_us := pg_sequence_last_value(c.ahead);
            reading_us := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
            IF life <> pg_sequence_last_value(c.life) THEN
                tick := greatest(
                    cell >> c.sequence_bits, pg_sequence_last_value(c.mark),
                    (reading_us + ahead_us - c.epoch_us) / c.tick_us
                );
                PERFORM setval(c.guard, greatest(
                    pg_sequence_last_value(c.guard), tick + c.horizon));
                cell := ((tick + 1) << c.sequence_bits) - 1;
                PERFORM setval(c.cell, cell);
                PERFORM setval(c.life, life);
            END IF;
            -- The clock never goes back: a step back is added to what it says from then on.
            floor_us := c.epoch_us + (cell >> c.sequence_bits) * c.tick_us;
            IF reading_us + ahead_us < floor_us THEN
                ahead_us := floor_us - reading_us;
                PERFORM setval(c.ahead, ahead_us);
            END IF;
            now_us := reading_us + ahead_us;
            tick := (now_us - c.epoch_us) / c.tick_us;
            wait_us := c.epoch_us + pg_sequence_last_value(c.guard) * c.tick_us - now_us;
            renew := wait_us <= 0 AND tick >= pg_sequence_last_value(c.kept) + c.horizon / 4;
            IF pg_sequence_last_value(c.lost) <> 0 OR renew AND c.node IS DISTINCT FROM
                (SELECT n.ids_node FROM @schema@.frazil_namespace AS n WHERE n.name = namespace)
            THEN
                RAISE EXCEPTION 'frazil_id: the record of namespace % has lost node number %',
                    quote_literal(namespace), c.node
                    USING ERRCODE = 'object_not_in_prerequisite_state',
                          HINT = 'Run: frazil init postgresql://... --namespace NAME --sql';
            END IF;
            IF renew THEN
                passed_us := now_us - c.epoch_us - pg_sequence_last_value(c.kept) * c.tick_us;
                IF ahead_us > 0 THEN
                    IF passed_us <= 60000000 OR 2 * passed_us <= ahead_us THEN
                        passed_us := passed_us / 8;
                    END IF;
                    -- It stays after the last cell and after the guard, which is -wait_us ago.
                    ahead_us := greatest(
                        ahead_us - passed_us, floor_us - reading_us, ahead_us + wait_us, 0);
                    PERFORM setval(c.ahead, ahead_us);
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
                IF tick > cell >> c.sequence_bits THEN
                    cell := tick << c.sequence_bits;
                ELSE
                    cell := cell + 1;
                END IF;
                IF cell >> c.sequence_bits > tick THEN
                    wait_us := c.epoch_us + (tick + 1) * c.tick_us - now_us;
                ELSE
                    PERFORM setval(c.cell, cell - 1);
                    cell := nextval(c.cell); -- and the rest of the block for this session
                    made := c.base | (tick << c.time_shift)
                        | ((cell & ((1::bigint << c.sequence_bits) - 1)) << c.sequence_shift);
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

REVOKE ALL ON FUNCTION @function@.frazil_id(text), @schema@.frazil_ids_lost() FROM PUBLIC;
REVOKE ALL ON TABLE @schema@.frazil_ids FROM PUBLIC;
