-- Corporate actions change holdings. A holding counts its shares in the units of its
-- asset's generation; each action that is applied raises the generation, and a sweep brings the
-- holdings up to date, with one row of effects for each. Package rewards has the rules.

-- +goose Up
-- state: 1 announced, 2 held, 3 ignored, 4 withdrawn, 5 passed, 6 applied, 7 swept, 8 undone,
-- 9 undoing. waits_for is the client order id of an order that must end
-- first, or what else an action that is held waits for.
-- What earlier versions held is judged again.
CREATE TABLE actions_13 (
    id           TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    asset_id     INTEGER NOT NULL REFERENCES assets (id),
    type         TEXT    NOT NULL CHECK (type <> ''),
    symbol       TEXT    NOT NULL,
    new_symbol   TEXT    NOT NULL,
    old_rate     TEXT    NOT NULL,
    new_rate     TEXT    NOT NULL,
    rate         TEXT    NOT NULL,
    ex_date      TEXT    NOT NULL,
    process_date TEXT    NOT NULL,
    pay_date     TEXT    NOT NULL DEFAULT '',
    revision     INTEGER NOT NULL CHECK (revision >= 0),
    state        INTEGER NOT NULL CHECK (state BETWEEN 1 AND 9),
    hold_from    INTEGER NOT NULL CHECK (hold_from >= 0),
    first_seen   INTEGER NOT NULL,
    held_at      INTEGER NOT NULL DEFAULT 0,
    decided_at   INTEGER NOT NULL DEFAULT 0, -- when an operator ignored it
    reason       TEXT    NOT NULL DEFAULT '',
    note         TEXT    NOT NULL DEFAULT '',
    waits_for    TEXT    NOT NULL DEFAULT '',
    boundary     INTEGER NOT NULL DEFAULT 0, -- 20:00 New York of the session before the ex-date
    approved_at  INTEGER NOT NULL DEFAULT 0, -- an operator decided to apply it
    applied_at   INTEGER NOT NULL DEFAULT 0,
    CHECK (state <> 3 OR decided_at > 0)
) STRICT, WITHOUT ROWID;
INSERT INTO actions_13 (id, asset_id, type, symbol, new_symbol, old_rate, new_rate, rate, ex_date, process_date,
    revision, state, hold_from, first_seen, held_at, decided_at, reason, note, boundary)
    SELECT id, asset_id, type, symbol, new_symbol, old_rate, new_rate, rate, ex_date, process_date, revision,
    CASE WHEN state = 2 AND type <> 'position' THEN 1 ELSE state END,
    hold_from, first_seen, held_at, resumed_at, reason, note, hold_from FROM actions;
DROP TABLE actions;
ALTER TABLE actions_13 RENAME TO actions;
CREATE INDEX actions_open ON actions (asset_id) WHERE state IN (1, 2) AND hold_from > 0;
CREATE INDEX actions_by_date ON actions (process_date);
CREATE INDEX actions_by_age ON actions (first_seen, id, asset_id, symbol, new_symbol, type, state);

-- An order may be the house's alone: it buys shares that the house owes. SQLite can change a rule
-- of a table only in the text of its schema.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'house < notional', 'house <=notional') WHERE name = 'orders';
PRAGMA writable_schema = OFF;

-- A switch changes the units of a stock, by an action or by its undo. Switches are applied one
-- after the other, in the order of their numbers. Its sweep goes over the holdings in the order
-- of app and user and has reached swept_app, swept_user. The sums are those of the sweep.
-- booked and target_booked are all shares before: the users' and the house's. position and
-- target_position are those after, from the broker.
CREATE TABLE switches (
    number          INTEGER NOT NULL PRIMARY KEY CHECK (number > 0),
    action_id       TEXT    NOT NULL REFERENCES actions (id),
    asset_id        INTEGER NOT NULL REFERENCES assets (id),
    generation      INTEGER NOT NULL CHECK (generation > 0), -- of the asset, after it
    undoes          INTEGER NOT NULL DEFAULT 0 CHECK (undoes >= 0 AND undoes < number), -- a switch
    keep_old        INTEGER NOT NULL CHECK (keep_old > 0),
    keep_new        INTEGER NOT NULL CHECK (keep_new >= 0),
    target_id       INTEGER NOT NULL DEFAULT 0, -- of the stock that holders receive
    give_old        INTEGER NOT NULL DEFAULT 1 CHECK (give_old > 0),
    give_new        INTEGER NOT NULL DEFAULT 0 CHECK (give_new >= 0),
    basis_part      TEXT    NOT NULL DEFAULT '0', -- of the cost basis that goes to the target, a fraction
    basis_ends      INTEGER NOT NULL DEFAULT 0 CHECK (basis_ends IN (0, 1)), -- the stock keeps none of it
    entitled_at     INTEGER NOT NULL DEFAULT 0, -- who bought since then is not entitled; 0: nobody did
    at              INTEGER NOT NULL,
    swept_at        INTEGER NOT NULL DEFAULT 0,
    swept_app       BLOB    NOT NULL DEFAULT x'',
    swept_user      BLOB    NOT NULL DEFAULT x'',
    users_before    INTEGER NOT NULL DEFAULT 0,
    users_after     INTEGER NOT NULL DEFAULT 0,
    users_given     INTEGER NOT NULL DEFAULT 0,
    booked          INTEGER NOT NULL DEFAULT 0,
    position        INTEGER NOT NULL DEFAULT 0,
    target_booked   INTEGER NOT NULL DEFAULT 0,
    target_position INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX switches_of_action ON switches (action_id);
CREATE UNIQUE INDEX switches_of_asset ON switches (asset_id, generation);
CREATE UNIQUE INDEX switches_open ON switches (swept_at) WHERE swept_at = 0; -- one at a time

-- What a switch did to a holding. cash is the user's part of what the broker paid.
CREATE TABLE effects (
    switch       INTEGER NOT NULL REFERENCES switches (number),
    app_id       BLOB    NOT NULL,
    user_id      BLOB    NOT NULL,
    asset_id     INTEGER NOT NULL,
    before       INTEGER NOT NULL CHECK (before >= 0),
    after        INTEGER NOT NULL CHECK (after >= 0),
    basis_before INTEGER NOT NULL CHECK (basis_before >= 0),
    basis_after  INTEGER NOT NULL CHECK (basis_after >= 0),
    entitled     INTEGER NOT NULL DEFAULT 0 CHECK (entitled >= 0), -- shares that a payment counts
    cash         INTEGER NOT NULL DEFAULT 0 CHECK (cash >= 0),
    reward_id    BLOB    NOT NULL DEFAULT x'', -- of the award that the cash became
    PRIMARY KEY (switch, app_id, user_id, asset_id)
) STRICT, WITHOUT ROWID;

-- Cash that the broker paid for an action: net of tax and fees, for the shares that the broker
-- counted. shared is the sum of the users' parts; the house keeps the rest. It is paid out in the
-- order of app and user and has reached paid_app, paid_user.
CREATE TABLE payouts (
    action_id TEXT    NOT NULL PRIMARY KEY REFERENCES actions (id),
    switch    INTEGER NOT NULL REFERENCES switches (number),
    activity_id TEXT  NOT NULL UNIQUE, -- of the payment
    net       INTEGER NOT NULL CHECK (net > 0),
    counted   INTEGER NOT NULL CHECK (counted > 0),
    shared    INTEGER NOT NULL DEFAULT 0,
    at        INTEGER NOT NULL,
    shared_at INTEGER NOT NULL DEFAULT 0,
    paid_at   INTEGER NOT NULL DEFAULT 0,
    paid_app  BLOB    NOT NULL DEFAULT x'',
    paid_user BLOB    NOT NULL DEFAULT x''
) STRICT, WITHOUT ROWID;

-- What the broker's account activities say, as received.
CREATE TABLE broker_activities (
    id        TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    type      TEXT    NOT NULL,
    sub_type  TEXT    NOT NULL,
    status    TEXT    NOT NULL,
    group_id  TEXT    NOT NULL,
    previous  TEXT    NOT NULL,
    order_id  TEXT    NOT NULL, -- the broker's
    symbol    TEXT    NOT NULL,
    date      TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    qty       INTEGER NOT NULL,
    cum_qty   INTEGER NOT NULL,
    price     INTEGER NOT NULL,
    net       INTEGER NOT NULL,
    per_share TEXT    NOT NULL,
    body      TEXT    NOT NULL,
    problem   TEXT    NOT NULL, -- why its figures cannot be trusted
    seen_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX broker_activities_of_symbol ON broker_activities (symbol, date);

-- The broker corrected what a settled order bought. The users keep what they were shown.
CREATE TABLE order_corrections (
    order_id    BLOB    NOT NULL REFERENCES orders (id),
    number      INTEGER NOT NULL CHECK (number > 0),
    filled_qty  INTEGER NOT NULL CHECK (filled_qty >= 0), -- in all, as corrected
    change      INTEGER NOT NULL,                         -- of the house's shares, in the units of now
    activity_id TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (order_id, number)
) STRICT, WITHOUT ROWID;

-- The broker corrected a position by an activity, such as a fraction that it had paid in cash and
-- gave back. The difference is the house's.
CREATE TABLE position_corrections (
    activity_id TEXT    NOT NULL PRIMARY KEY REFERENCES broker_activities (id),
    asset_id    INTEGER NOT NULL REFERENCES assets (id),
    change      INTEGER NOT NULL,
    at          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The house's shares; negative: it owes them to the users.
CREATE TABLE house_holdings (
    asset_id INTEGER NOT NULL PRIMARY KEY REFERENCES assets (id),
    quantity INTEGER NOT NULL,
    short_since INTEGER NOT NULL DEFAULT 0 -- since when it is negative
) STRICT;
INSERT INTO house_holdings (asset_id, quantity)
    SELECT p.asset_id, p.booked - coalesce((SELECT sum(h.quantity) FROM holdings h WHERE h.asset_id = p.asset_id), 0)
    FROM positions p;

-- The stocks that users of an app hold or held.
CREATE TABLE app_assets (
    app_id   BLOB    NOT NULL,
    asset_id INTEGER NOT NULL,
    PRIMARY KEY (app_id, asset_id)
) STRICT, WITHOUT ROWID;
INSERT INTO app_assets (app_id, asset_id) SELECT DISTINCT app_id, asset_id FROM holdings;

-- What the house ordered on the day to buy shares that it owes.
ALTER TABLE spending ADD COLUMN shortage INTEGER NOT NULL DEFAULT 0;
ALTER TABLE holdings ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE prices ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE orders ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE apps ADD COLUMN dividends INTEGER NOT NULL DEFAULT 1 CHECK (dividends IN (1, 2)); -- 1 reinvest, 2 house
-- Trades from basis_from on (the broker's time) are in the units of generation; those before are
-- in the units of the generation before: basis_old of these shares became basis_new.
-- pending_from, pending_old and pending_new are the same of the action that holds the stock; 0: no ratio.
ALTER TABLE assets ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE assets ADD COLUMN basis_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE assets ADD COLUMN basis_old INTEGER NOT NULL DEFAULT 1;
ALTER TABLE assets ADD COLUMN basis_new INTEGER NOT NULL DEFAULT 1;
ALTER TABLE assets ADD COLUMN pending_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE assets ADD COLUMN pending_old INTEGER NOT NULL DEFAULT 0;
ALTER TABLE assets ADD COLUMN pending_new INTEGER NOT NULL DEFAULT 0;
ALTER TABLE assets ADD COLUMN former_broker_id TEXT NOT NULL DEFAULT '';
-- The units that a hold of an earlier version began are unknown until the next leader reads its actions.
UPDATE assets SET pending_from = hold_from;
