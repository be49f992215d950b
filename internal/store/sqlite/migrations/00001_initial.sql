-- The first schema. Ids are 16 bytes (UUIDv7), money is millionths of a dollar,
-- quantities and prices are billionths, times are UTC microseconds; 0 and '' stand
-- for "none". Clients' tables have the app id first, so that tenancy is in the keys.

-- +goose Up
CREATE TABLE settings (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE apps (
    id        BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    name      TEXT    NOT NULL UNIQUE CHECK (name <> ''),
    suspended INTEGER NOT NULL DEFAULT 0 CHECK (suspended IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
    app_id     BLOB    NOT NULL REFERENCES apps (id),
    id         BLOB    NOT NULL CHECK (length(id) = 16),
    hash       BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    label      TEXT    NOT NULL,
    hint       TEXT    NOT NULL,
    expires_at INTEGER NOT NULL DEFAULT 0,
    revoked_at INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (app_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
    app_id       BLOB NOT NULL REFERENCES apps (id),
    id           BLOB NOT NULL CHECK (length(id) = 16),
    email        TEXT NOT NULL,
    email_folded TEXT NOT NULL,
    external_id  TEXT NOT NULL,
    PRIMARY KEY (app_id, id),
    CHECK (email <> '' OR external_id <> ''),
    CHECK ((email = '') = (email_folded = ''))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX users_by_email ON users (app_id, email_folded) WHERE email_folded <> '';
CREATE UNIQUE INDEX users_by_external_id ON users (app_id, external_id) WHERE external_id <> '';

CREATE TABLE assets (
    id          INTEGER NOT NULL PRIMARY KEY,
    broker_id   TEXT    NOT NULL DEFAULT '',
    symbol      TEXT    NOT NULL UNIQUE CHECK (symbol <> ''),
    name        TEXT    NOT NULL,
    enabled     INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    used        INTEGER NOT NULL DEFAULT 0 CHECK (used IN (0, 1)), -- was ever given: its price is needed
    doubt_since INTEGER NOT NULL DEFAULT 0,
    doubt_price INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE prices (
    asset_id     INTEGER NOT NULL PRIMARY KEY REFERENCES assets (id),
    price        INTEGER NOT NULL CHECK (price >= 0), -- 0: none was ever told
    traded_at    INTEGER NOT NULL,
    confirmed_at INTEGER NOT NULL,
    accepted     INTEGER NOT NULL DEFAULT 0 -- a level that an operator confirmed
) STRICT;

-- status: 1 recorded, 2 executing, 3 executed, 4 failed.
-- waiting: the reward needs an order. booked: how much of the amount was bought.
CREATE TABLE rewards (
    app_id          BLOB    NOT NULL,
    id              BLOB    NOT NULL CHECK (length(id) = 16),
    user_id         BLOB    NOT NULL,
    idempotency_key TEXT    NOT NULL,
    fingerprint     BLOB    NOT NULL CHECK (length(fingerprint) = 33),
    amount          INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 1000000000000),
    asset_id        INTEGER NOT NULL REFERENCES assets (id),
    symbol          TEXT    NOT NULL CHECK (symbol <> ''),
    source          TEXT    NOT NULL,
    metadata        TEXT    NOT NULL,
    status          INTEGER NOT NULL DEFAULT 1 CHECK (status BETWEEN 1 AND 4),
    waiting         INTEGER NOT NULL DEFAULT 1 CHECK (waiting IN (0, 1)),
    booked          INTEGER NOT NULL DEFAULT 0 CHECK (booked BETWEEN 0 AND amount),
    executed_at     INTEGER NOT NULL DEFAULT 0,
    failure_reason  TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (app_id, id),
    FOREIGN KEY (app_id, user_id) REFERENCES users (app_id, id),
    CHECK (status <> 1 OR (waiting = 1 AND booked = 0)),
    CHECK (status <> 3 OR booked = amount),
    CHECK (status < 3 OR waiting = 0),
    CHECK ((status = 3) = (executed_at > 0)),
    CHECK ((status = 4) = (failure_reason <> ''))
) STRICT;
CREATE UNIQUE INDEX rewards_by_key ON rewards (app_id, idempotency_key);
CREATE INDEX rewards_by_user ON rewards (app_id, user_id, id);
CREATE INDEX rewards_by_status ON rewards (app_id, status, id);
CREATE INDEX rewards_waiting ON rewards (asset_id, id) WHERE waiting = 1;

-- state: 1 planned, 2 submitted, 3 open, 4 quarantined, 5 resolved, 6 settled, 7 refused.
CREATE TABLE orders (
    id               BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    client_order_id  TEXT    NOT NULL UNIQUE CHECK (client_order_id <> ''),
    asset_id         INTEGER NOT NULL REFERENCES assets (id),
    symbol           TEXT    NOT NULL,
    notional         INTEGER NOT NULL CHECK (notional >= 1000000 AND notional % 10000 = 0),
    house            INTEGER NOT NULL CHECK (house >= 0 AND house < notional),
    members_hash     BLOB    NOT NULL CHECK (length(members_hash) = 32),
    state            INTEGER NOT NULL CHECK (state BETWEEN 1 AND 7),
    attempts         INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    first_attempt_at INTEGER NOT NULL DEFAULT 0,
    next_attempt_at  INTEGER NOT NULL DEFAULT 0,
    deadline         INTEGER NOT NULL DEFAULT 0,
    broker_id        TEXT    NOT NULL DEFAULT '',
    broker_status    TEXT    NOT NULL DEFAULT '',
    filled_qty       INTEGER NOT NULL DEFAULT 0 CHECK (filled_qty >= 0),
    filled_avg_price INTEGER NOT NULL DEFAULT 0 CHECK (filled_avg_price >= 0),
    filled_at        INTEGER NOT NULL DEFAULT 0,
    terminal_since   INTEGER NOT NULL DEFAULT 0,
    reason           TEXT    NOT NULL DEFAULT '',
    house_shares     INTEGER NOT NULL DEFAULT 0 CHECK (house_shares BETWEEN 0 AND filled_qty),
    settled_at       INTEGER NOT NULL DEFAULT 0,
    CHECK ((state = 1) = (attempts = 0)),
    CHECK ((attempts = 0) = (first_attempt_at = 0)),
    CHECK ((state IN (6, 7)) = (settled_at > 0)),
    CHECK (state <> 7 OR (filled_qty = 0 AND reason <> '')),
    CHECK (state <> 4 OR reason <> ''),
    CHECK (filled_qty = 0 OR filled_avg_price > 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX orders_live ON orders (id, state) WHERE state < 6;

CREATE TABLE order_rewards (
    order_id  BLOB    NOT NULL REFERENCES orders (id),
    position  INTEGER NOT NULL,
    app_id    BLOB    NOT NULL,
    reward_id BLOB    NOT NULL,
    amount    INTEGER NOT NULL CHECK (amount > 0),
    PRIMARY KEY (order_id, position),
    FOREIGN KEY (app_id, reward_id) REFERENCES rewards (app_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE order_resolutions (
    order_id   BLOB    NOT NULL PRIMARY KEY REFERENCES orders (id),
    filled_qty INTEGER NOT NULL CHECK (filled_qty >= 0), -- 0: nothing was bought
    price      INTEGER NOT NULL CHECK (price >= 0),
    reason     TEXT    NOT NULL CHECK (reason <> ''),
    at         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE allocations (
    app_id    BLOB    NOT NULL,
    reward_id BLOB    NOT NULL,
    order_id  BLOB    NOT NULL REFERENCES orders (id),
    amount    INTEGER NOT NULL CHECK (amount > 0),
    shares    INTEGER NOT NULL CHECK (shares >= 0),
    PRIMARY KEY (app_id, reward_id, order_id),
    FOREIGN KEY (app_id, reward_id) REFERENCES rewards (app_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE holdings (
    app_id     BLOB    NOT NULL,
    user_id    BLOB    NOT NULL,
    asset_id   INTEGER NOT NULL REFERENCES assets (id),
    quantity   INTEGER NOT NULL CHECK (quantity >= 0),
    cost_basis INTEGER NOT NULL CHECK (cost_basis >= 0),
    PRIMARY KEY (app_id, user_id, asset_id),
    FOREIGN KEY (app_id, user_id) REFERENCES users (app_id, id)
) STRICT, WITHOUT ROWID;

-- What was ordered on a UTC day (microseconds of its start), for the daily limits.
CREATE TABLE spending (
    day      INTEGER NOT NULL PRIMARY KEY,
    notional INTEGER NOT NULL CHECK (notional >= 0),
    house    INTEGER NOT NULL CHECK (house >= 0)
) STRICT;

CREATE TABLE lease (
    only    INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
    holder  TEXT    NOT NULL,
    epoch   INTEGER NOT NULL,
    until   INTEGER NOT NULL
) STRICT;
INSERT INTO lease (only, holder, epoch, until) VALUES (1, '', 0, 0);

CREATE TABLE alarms (
    name    TEXT    NOT NULL PRIMARY KEY,
    message TEXT    NOT NULL,
    since   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Orders at the broker that our books do not know or contradict. Ordering stops
-- while one is not acknowledged.
CREATE TABLE broker_conflicts (
    client_order_id TEXT    NOT NULL PRIMARY KEY,
    symbol          TEXT    NOT NULL,
    filled_qty      INTEGER NOT NULL,
    detail          TEXT    NOT NULL,
    found_at        INTEGER NOT NULL,
    acknowledged_at INTEGER NOT NULL DEFAULT 0,
    reason          TEXT    NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
