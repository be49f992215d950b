-- Corporate actions as brokers announce them, and what they hold. Rates are decimals
-- as they were written, '' where there is none; dates are "2026-12-01".

-- +goose Up
-- state: 1 announced, 2 held, 3 resumed, 4 withdrawn, 5 passed.
-- hold_from is the broker's time; 0: the action never holds its stock.
CREATE TABLE actions (
    id           text COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    asset_id     bigint NOT NULL REFERENCES assets (id),
    type         text COLLATE "C" NOT NULL CHECK (type <> ''),
    symbol       text COLLATE "C" NOT NULL,
    new_symbol   text COLLATE "C" NOT NULL,
    old_rate     text COLLATE "C" NOT NULL,
    new_rate     text COLLATE "C" NOT NULL,
    rate         text COLLATE "C" NOT NULL,
    ex_date      text COLLATE "C" NOT NULL,
    process_date text COLLATE "C" NOT NULL,
    revision     bigint NOT NULL CHECK (revision >= 0),
    state        bigint NOT NULL CHECK (state BETWEEN 1 AND 5),
    hold_from    bigint NOT NULL CHECK (hold_from >= 0),
    first_seen   bigint NOT NULL,
    held_at      bigint NOT NULL DEFAULT 0,
    resumed_at   bigint NOT NULL DEFAULT 0,
    reason       text COLLATE "C" NOT NULL DEFAULT '',
    note         text COLLATE "C" NOT NULL DEFAULT '',
    CHECK (state <> 2 OR (hold_from > 0 AND held_at > 0)),
    CHECK ((resumed_at > 0) = (reason <> '')),
    CHECK (state <> 3 OR resumed_at > 0)
);
CREATE INDEX actions_open ON actions (asset_id) WHERE state IN (1, 2) AND hold_from > 0;
CREATE INDEX actions_by_date ON actions (process_date);

-- Each announcement as it came; a revision is a body that differs from the one before.
CREATE TABLE announcements (
    action_id text COLLATE "C" NOT NULL REFERENCES actions (id),
    revision  bigint NOT NULL CHECK (revision > 0),
    body      text COLLATE "C" NOT NULL,
    seen_at   bigint NOT NULL,
    PRIMARY KEY (action_id, revision)
);

-- What the books have of each stock: the running sum of filled_qty of settled orders.
-- differs is the broker's position less that, as last compared; accepted is a
-- difference that an operator has accepted.
CREATE TABLE positions (
    asset_id bigint NOT NULL PRIMARY KEY REFERENCES assets (id),
    booked   bigint NOT NULL DEFAULT 0 CHECK (booked >= 0),
    differs  bigint NOT NULL DEFAULT 0,
    accepted bigint NOT NULL DEFAULT 0
);
INSERT INTO positions (asset_id, booked)
    SELECT asset_id, sum(filled_qty)::bigint FROM orders WHERE state = 6 AND filled_qty > 0 GROUP BY asset_id;

-- From when the stock is neither ordered nor valued because of its actions, in the
-- broker's time; 0: there is none. It follows from actions.
ALTER TABLE assets ADD COLUMN hold_from bigint NOT NULL DEFAULT 0;

CREATE OR REPLACE VIEW readable.assets AS SELECT t.id, t.broker_id, t.symbol, t.name, t.enabled = 1 AS enabled,
    t.gone = 1 AS gone, t.used = 1 AS used, readable.moment(t.doubt_since) AS doubt_since,
    readable.nano(t.doubt_price) AS doubt_price, readable.moment(t.hold_from) AS hold_from
    FROM assets t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.actions AS SELECT t.id, a.symbol AS asset, t.type, t.symbol, t.new_symbol, t.old_rate, t.new_rate,
    t.rate, t.ex_date, t.process_date, t.revision,
    (ARRAY['announced', 'held', 'resumed', 'withdrawn', 'passed'])[t.state] AS state,
    readable.moment(t.hold_from) AS hold_from, readable.moment(t.first_seen) AS first_seen,
    readable.moment(t.held_at) AS held_at, readable.moment(t.resumed_at) AS resumed_at, t.reason, t.note
    FROM actions t JOIN assets a ON a.id = t.asset_id;
CREATE VIEW readable.announcements AS SELECT t.action_id, t.revision, t.body, readable.moment(t.seen_at) AS seen_at
    FROM announcements t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.positions AS SELECT a.symbol, readable.nano(t.booked) AS booked,
    readable.nano(t.differs) AS differs, readable.nano(t.accepted) AS accepted
    FROM positions t JOIN assets a ON a.id = t.asset_id;
