-- What waits or executes is in a table of its own, as over PostgreSQL, so that a reward's row is
-- written when it is recorded and when it is final. The newest rewards come into the table later,
-- many at once: see internal/store/LAYOUT.md.

-- +goose Up
-- status: 1 recorded, 2 executing. waiting: it needs an order. pending: what is not bought yet.
DROP VIEW open_rewards;
CREATE TABLE open_rewards (
    app_id   BLOB    NOT NULL,
    id       BLOB    NOT NULL,
    asset_id INTEGER NOT NULL,
    status   INTEGER NOT NULL CHECK (status IN (1, 2)),
    waiting  INTEGER NOT NULL CHECK (waiting IN (0, 1)),
    pending  INTEGER NOT NULL CHECK (pending > 0),
    PRIMARY KEY (app_id, status, id)
) STRICT, WITHOUT ROWID;
INSERT INTO open_rewards (app_id, id, asset_id, status, waiting, pending)
    SELECT app_id, id, asset_id, status, waiting, amount - booked FROM rewards INDEXED BY rewards_open WHERE status < 3;
CREATE INDEX open_rewards_waiting ON open_rewards (asset_id, app_id, id, pending) WHERE waiting = 1;
DROP INDEX rewards_open;
DROP INDEX rewards_waiting;

-- Rewards after this number are not in open_rewards yet. They also have ids after this one, so
-- that those of an app are found by the primary key.
CREATE TABLE arrivals_after (
    only   INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
    number INTEGER NOT NULL CHECK (number >= 0),
    id     BLOB    NOT NULL
) STRICT;
INSERT INTO arrivals_after (only, number, id) SELECT 1, coalesce((SELECT max(rowid) FROM rewards), 0),
    coalesce((SELECT max(newest) FROM (SELECT (SELECT max(id) FROM rewards WHERE app_id = apps.id) AS newest FROM apps)), x'');
CREATE VIEW arrivals AS SELECT app_id, id, asset_id, 1 AS status, 1 AS waiting, amount AS pending FROM rewards
    WHERE status = 1 AND rowid > (SELECT number FROM arrivals_after) AND id > (SELECT id FROM arrivals_after);
CREATE VIEW arrived AS SELECT asset_id, app_id, min(id) AS oldest, count(*) AS waiting FROM arrivals
    GROUP BY asset_id, app_id;

-- A row of rewards has the status 1 until it is final; its column waiting is not used any more. SQLite
-- can change a rule of a table only in the text of its schema.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(sql,
    'CHECK (status <> 1 OR (waiting = 1 AND booked = 0))', 'CHECK (status <> 2)                                '),
    'CHECK (status < 3 OR waiting = 0)', 'CHECK (status>1 OR booked<amount)') WHERE name = 'rewards';
PRAGMA writable_schema = RESET; -- and read the changed rules
UPDATE rewards SET status = 1 WHERE (app_id, id) IN (SELECT app_id, id FROM open_rewards WHERE status = 2);
