-- The table of the PostgreSQL registry: a row for each namespace, or several with a share of its
-- node numbers each. `frazil init` applies this file if the role may create tables; otherwise an
-- administrator applies it once:
--
--     psql DATABASE -f table.sql
--     psql DATABASE -c 'GRANT SELECT, INSERT, UPDATE ON frazil.frazil_namespace TO app'
--
-- Members need these three rights and no others. They change only the rows of their namespace.
--
-- The table has a schema of its own, which tools that compare or dump an application's tables do
-- not see. It stays where it is if it exists in the search_path, and a role that may create tables
-- but no schema makes it in its current schema.

DO $frazil$ BEGIN
    IF to_regclass('frazil_namespace') IS NULL AND to_regnamespace('frazil') IS NULL
        AND has_database_privilege(current_database(), 'CREATE')
    THEN
        CREATE SCHEMA frazil;
        GRANT USAGE ON SCHEMA frazil TO PUBLIC; -- the table has rights of its own
    END IF;
    PERFORM set_config('search_path', concat_ws(
        ', ', nullif(current_setting('search_path'), ''), 'frazil'), true);
    IF to_regclass('frazil_namespace') IS NULL THEN
        IF coalesce(has_schema_privilege(to_regnamespace('frazil'), 'CREATE'), false) THEN
            SET LOCAL search_path = frazil;
        END IF;
        CREATE TABLE frazil_namespace (
            name        text PRIMARY KEY,
            sid         text   NOT NULL DEFAULT '',
            incarnation text   NOT NULL DEFAULT '',
            fingerprint text   NOT NULL DEFAULT '',
            layout      text   NOT NULL DEFAULT '',
            revision    bigint NOT NULL DEFAULT 0,
            guard       bigint NOT NULL DEFAULT 0,
            last_us     bigint NOT NULL DEFAULT 0,
            offset_us   bigint NOT NULL DEFAULT 0,
            top_us      bigint NOT NULL DEFAULT 0,
            slots       bytea  NOT NULL DEFAULT '',
            writer      bigint NOT NULL DEFAULT 0
        );
    END IF;

    -- The transaction in which a member wrote the row. It shows a row that another transaction
    -- wrote, such as a restored or edited one.
    ALTER TABLE frazil_namespace ADD COLUMN IF NOT EXISTS writer bigint NOT NULL DEFAULT 0;

    -- Random tokens do not compress, and compression would run while the row is locked.
    ALTER TABLE frazil_namespace ALTER COLUMN slots SET STORAGE EXTERNAL;
END $frazil$;
