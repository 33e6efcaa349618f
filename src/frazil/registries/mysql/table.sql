-- The table of the MySQL and MariaDB registry: a row for each namespace, or several with a share of
-- its node numbers each. `frazil init` applies this file if the user may create tables;
-- otherwise an administrator applies it once:
--
--     mysql DATABASE < table.sql
--     mysql DATABASE -e "GRANT SELECT, INSERT, UPDATE ON frazil_namespace TO ids@'%'"
--
-- Members need these three rights and no others. They change only the rows of their namespace.
-- The name is binary: a text column would ignore spaces at its end.

CREATE TABLE IF NOT EXISTS frazil_namespace (
    name        varbinary(800) NOT NULL PRIMARY KEY,
    sid         varchar(64)    NOT NULL DEFAULT '',
    incarnation varchar(255)   NOT NULL DEFAULT '',
    fingerprint varchar(64)    NOT NULL DEFAULT '',
    layout      varchar(4000)  NOT NULL DEFAULT '',
    revision    bigint         NOT NULL DEFAULT 0,
    guard       bigint         NOT NULL DEFAULT 0,
    last_us     bigint         NOT NULL DEFAULT 0,
    offset_us   bigint         NOT NULL DEFAULT 0,
    top_us      bigint         NOT NULL DEFAULT 0,
    slots       longblob       NOT NULL,
    writer      varchar(8)     NOT NULL DEFAULT ''
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The triggers note whether a member wrote the row: only a member sets @frazil_writes before it
-- writes. A row that was restored or edited lacks this note. Creating a trigger needs the right
-- TRIGGER and, with a binary log, log_bin_trust_function_creators=1 or an administrator.

CREATE TRIGGER frazil_inserted BEFORE INSERT ON frazil_namespace FOR EACH ROW
    SET NEW.writer = '';

CREATE TRIGGER frazil_updated BEFORE UPDATE ON frazil_namespace FOR EACH ROW
    SET NEW.writer = IF(@frazil_writes <=> NEW.revision, 'checked', '');
