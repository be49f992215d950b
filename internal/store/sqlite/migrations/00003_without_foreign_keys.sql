-- What grows with every reward refers to others by keys that the statements
-- themselves look up: a foreign key would look each of them up once more. The audit
-- checks that nothing refers to what is not there.

-- +goose Up
CREATE TABLE new_order_rewards (
    order_id  BLOB    NOT NULL,
    position  INTEGER NOT NULL,
    app_id    BLOB    NOT NULL,
    reward_id BLOB    NOT NULL,
    amount    INTEGER NOT NULL CHECK (amount > 0),
    PRIMARY KEY (order_id, position)
) STRICT, WITHOUT ROWID;
INSERT INTO new_order_rewards SELECT * FROM order_rewards ORDER BY order_id, position;
DROP TABLE order_rewards;
ALTER TABLE new_order_rewards RENAME TO order_rewards;

CREATE TABLE new_allocations (
    app_id    BLOB    NOT NULL,
    reward_id BLOB    NOT NULL,
    order_id  BLOB    NOT NULL,
    amount    INTEGER NOT NULL CHECK (amount > 0),
    shares    INTEGER NOT NULL CHECK (shares >= 0),
    PRIMARY KEY (app_id, reward_id, order_id)
) STRICT, WITHOUT ROWID;
INSERT INTO new_allocations SELECT * FROM allocations ORDER BY app_id, reward_id, order_id;
DROP TABLE allocations;
ALTER TABLE new_allocations RENAME TO allocations;

CREATE TABLE new_holdings (
    app_id     BLOB    NOT NULL,
    user_id    BLOB    NOT NULL,
    asset_id   INTEGER NOT NULL,
    quantity   INTEGER NOT NULL CHECK (quantity >= 0),
    cost_basis INTEGER NOT NULL CHECK (cost_basis >= 0),
    PRIMARY KEY (app_id, user_id, asset_id)
) STRICT, WITHOUT ROWID;
INSERT INTO new_holdings SELECT * FROM holdings ORDER BY app_id, user_id, asset_id;
DROP TABLE holdings;
ALTER TABLE new_holdings RENAME TO holdings;

CREATE TABLE new_rewards (
    app_id          BLOB    NOT NULL,
    id              BLOB    NOT NULL CHECK (length(id) = 16),
    user_id         BLOB    NOT NULL,
    idempotency_key TEXT    NOT NULL,
    fingerprint     BLOB    NOT NULL CHECK (length(fingerprint) = 33),
    amount          INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 1000000000000),
    asset_id        INTEGER NOT NULL,
    symbol          TEXT    NOT NULL CHECK (symbol <> ''),
    source          TEXT    NOT NULL,
    metadata        TEXT    NOT NULL,
    status          INTEGER NOT NULL DEFAULT 1 CHECK (status BETWEEN 1 AND 4),
    waiting         INTEGER NOT NULL DEFAULT 1 CHECK (waiting IN (0, 1)),
    booked          INTEGER NOT NULL DEFAULT 0 CHECK (booked BETWEEN 0 AND amount),
    executed_at     INTEGER NOT NULL DEFAULT 0,
    failure_reason  TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (app_id, id),
    CHECK (status <> 1 OR (waiting = 1 AND booked = 0)),
    CHECK (status <> 3 OR booked = amount),
    CHECK (status < 3 OR waiting = 0),
    CHECK ((status = 3) = (executed_at > 0)),
    CHECK ((status = 4) = (failure_reason <> ''))
) STRICT;
INSERT INTO new_rewards SELECT * FROM rewards ORDER BY rowid;
DROP TABLE rewards;
ALTER TABLE new_rewards RENAME TO rewards;

CREATE UNIQUE INDEX rewards_by_key ON rewards (app_id, idempotency_key);
CREATE INDEX rewards_by_user ON rewards (app_id, user_id, id);
CREATE INDEX rewards_by_status ON rewards (app_id, status, id);
CREATE INDEX rewards_waiting ON rewards (asset_id, id) WHERE waiting = 1;
