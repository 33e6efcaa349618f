-- The tables of the SQLite registry: the record of each namespace, and its slots, one row for each
-- slot that was ever granted.

CREATE TABLE IF NOT EXISTS namespace (
    name TEXT PRIMARY KEY, sid TEXT, incarnation TEXT, fingerprint TEXT, layout TEXT,
    revision INTEGER, guard INTEGER, last_us INTEGER, offset_us INTEGER, top_us INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS slot (
    namespace TEXT, n INTEGER, until INTEGER, start INTEGER, token TEXT, holder TEXT,
    since_us INTEGER, PRIMARY KEY (namespace, n)
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS slot_until ON slot (namespace, until, n);
