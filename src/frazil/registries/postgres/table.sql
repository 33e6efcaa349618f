-- The table of the PostgreSQL registry: one row per namespace, so that a namespace is lost as a
-- whole or not at all. `frazil init` applies this file if the role may create tables; otherwise an
-- administrator applies it once:
--
--     psql DATABASE -f table.sql
--     psql DATABASE -c 'GRANT SELECT, INSERT, UPDATE ON frazil_namespace TO app'
--
-- Members need these three rights and no others. They change only the row of their namespace.

CREATE TABLE IF NOT EXISTS frazil_namespace (
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

-- The transaction in which a member wrote the row. It shows a row that another transaction wrote,
-- such as a restored or edited one.
ALTER TABLE frazil_namespace ADD COLUMN IF NOT EXISTS writer bigint NOT NULL DEFAULT 0;

-- Random tokens do not compress, and compression would run while the row is locked.
ALTER TABLE frazil_namespace ALTER COLUMN slots SET STORAGE EXTERNAL;
