-- Corporate actions change holdings. A holding counts its shares in the units of its
-- asset's generation; each action that is applied raises the generation, and a sweep brings the
-- holdings up to date, with one row of effects for each. Package rewards has the rules.

-- +goose Up
SET LOCAL statement_timeout = 0; -- all holdings are read once
-- state: 1 announced, 2 held, 3 ignored, 4 withdrawn, 5 passed, 6 applied, 7 swept, 8 undone,
-- 9 undoing. waits_for is the client order id of an order that must end
-- first, or what else an action that is held waits for.
-- What earlier versions held is judged again.
ALTER TABLE actions ADD COLUMN pay_date text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE actions ADD COLUMN waits_for text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE actions ADD COLUMN boundary bigint NOT NULL DEFAULT 0;
ALTER TABLE actions ADD COLUMN approved_at bigint NOT NULL DEFAULT 0;
ALTER TABLE actions ADD COLUMN applied_at bigint NOT NULL DEFAULT 0;
UPDATE actions SET boundary = hold_from;
ALTER TABLE actions RENAME COLUMN resumed_at TO decided_at;
-- +goose StatementBegin
DO $$
DECLARE rule record;
BEGIN
    FOR rule IN SELECT conrelid::regclass AS place, conname FROM pg_constraint WHERE contype = 'c'
        AND (conrelid = 'actions'::regclass AND (pg_get_constraintdef(oid) LIKE '%state%' OR pg_get_constraintdef(oid) LIKE '%reason%') OR
             conrelid = 'orders'::regclass AND pg_get_constraintdef(oid) LIKE '%house < notional%') LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', rule.place, rule.conname);
    END LOOP;
END $$;
-- +goose StatementEnd
UPDATE actions SET state = 1 WHERE state = 2 AND type <> 'position';
ALTER TABLE actions ADD CHECK (state BETWEEN 1 AND 9);
ALTER TABLE actions ADD CHECK (state <> 3 OR decided_at > 0);
CREATE INDEX actions_by_age ON actions (first_seen, id, asset_id, symbol, new_symbol, type, state);
-- An order may be the house's alone: it buys shares that the house owes.
ALTER TABLE orders ADD CHECK (house >= 0 AND house <= notional);

-- A switch changes the units of a stock, by an action or by its undo. Switches are applied one
-- after the other, in the order of their numbers. Its sweep goes over the holdings in the order
-- of app and user and has reached swept_app, swept_user. The sums are those of the sweep.
-- booked and target_booked are all shares before: the users' and the house's. position and
-- target_position are those after, from the broker.
CREATE TABLE switches (
    number          bigint NOT NULL PRIMARY KEY CHECK (number > 0),
    action_id       text COLLATE "C" NOT NULL REFERENCES actions (id),
    asset_id        bigint NOT NULL REFERENCES assets (id),
    generation      bigint NOT NULL CHECK (generation > 0), -- of the asset, after it
    undoes          bigint NOT NULL DEFAULT 0 CHECK (undoes >= 0 AND undoes < number), -- a switch
    keep_old        bigint NOT NULL CHECK (keep_old > 0),
    keep_new        bigint NOT NULL CHECK (keep_new >= 0),
    target_id       bigint NOT NULL DEFAULT 0, -- of the stock that holders receive
    give_old        bigint NOT NULL DEFAULT 1 CHECK (give_old > 0),
    give_new        bigint NOT NULL DEFAULT 0 CHECK (give_new >= 0),
    basis_part      text COLLATE "C" NOT NULL DEFAULT '0', -- of the cost basis that goes to the target, a fraction
    basis_ends      bigint NOT NULL DEFAULT 0 CHECK (basis_ends IN (0, 1)), -- the stock keeps none of it
    entitled_at     bigint NOT NULL DEFAULT 0, -- who bought since then is not entitled; 0: nobody did
    at              bigint NOT NULL,
    swept_at        bigint NOT NULL DEFAULT 0,
    swept_app       bytea NOT NULL DEFAULT ''::bytea,
    swept_user      bytea NOT NULL DEFAULT ''::bytea,
    users_before    bigint NOT NULL DEFAULT 0,
    users_after     bigint NOT NULL DEFAULT 0,
    users_given     bigint NOT NULL DEFAULT 0,
    booked          bigint NOT NULL DEFAULT 0,
    position        bigint NOT NULL DEFAULT 0,
    target_booked   bigint NOT NULL DEFAULT 0,
    target_position bigint NOT NULL DEFAULT 0
);
CREATE INDEX switches_of_action ON switches (action_id);
CREATE UNIQUE INDEX switches_of_asset ON switches (asset_id, generation);
CREATE UNIQUE INDEX switches_open ON switches (swept_at) WHERE swept_at = 0; -- one at a time

-- What a switch did to a holding. cash is the user's part of what the broker paid.
CREATE TABLE effects (
    switch       bigint NOT NULL REFERENCES switches (number),
    app_id       bytea NOT NULL,
    user_id      bytea NOT NULL,
    asset_id     bigint NOT NULL,
    before       bigint NOT NULL CHECK (before >= 0),
    after        bigint NOT NULL CHECK (after >= 0),
    basis_before bigint NOT NULL CHECK (basis_before >= 0),
    basis_after  bigint NOT NULL CHECK (basis_after >= 0),
    entitled     bigint NOT NULL DEFAULT 0 CHECK (entitled >= 0), -- shares that a payment counts
    cash         bigint NOT NULL DEFAULT 0 CHECK (cash >= 0),
    reward_id    bytea NOT NULL DEFAULT ''::bytea, -- of the award that the cash became
    PRIMARY KEY (switch, app_id, user_id, asset_id)
);

-- Cash that the broker paid for an action: net of tax and fees, for the shares that the broker
-- counted. shared is the sum of the users' parts; the house keeps the rest. It is paid out in the
-- order of app and user and has reached paid_app, paid_user.
CREATE TABLE payouts (
    action_id text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES actions (id),
    switch    bigint NOT NULL REFERENCES switches (number),
    activity_id text COLLATE "C" NOT NULL UNIQUE, -- of the payment
    net       bigint NOT NULL CHECK (net > 0),
    counted   bigint NOT NULL CHECK (counted > 0),
    shared    bigint NOT NULL DEFAULT 0,
    at        bigint NOT NULL,
    shared_at bigint NOT NULL DEFAULT 0,
    paid_at   bigint NOT NULL DEFAULT 0,
    paid_app  bytea NOT NULL DEFAULT ''::bytea,
    paid_user bytea NOT NULL DEFAULT ''::bytea
);

-- What the broker's account activities say, as received.
CREATE TABLE broker_activities (
    id        text COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    type      text COLLATE "C" NOT NULL,
    sub_type  text COLLATE "C" NOT NULL,
    status    text COLLATE "C" NOT NULL,
    group_id  text COLLATE "C" NOT NULL,
    previous  text COLLATE "C" NOT NULL,
    order_id  text COLLATE "C" NOT NULL, -- the broker's
    symbol    text COLLATE "C" NOT NULL,
    date      text COLLATE "C" NOT NULL,
    at        bigint NOT NULL,
    qty       bigint NOT NULL,
    cum_qty   bigint NOT NULL,
    price     bigint NOT NULL,
    net       bigint NOT NULL,
    per_share text COLLATE "C" NOT NULL,
    body      text COLLATE "C" NOT NULL,
    problem   text COLLATE "C" NOT NULL, -- why its figures cannot be trusted
    seen_at   bigint NOT NULL
);
CREATE INDEX broker_activities_of_symbol ON broker_activities (symbol, date);

-- The broker corrected what a settled order bought. The users keep what they were shown.
CREATE TABLE order_corrections (
    order_id    bytea NOT NULL REFERENCES orders (id),
    number      bigint NOT NULL CHECK (number > 0),
    filled_qty  bigint NOT NULL CHECK (filled_qty >= 0), -- in all, as corrected
    change      bigint NOT NULL,                         -- of the house's shares, in the units of now
    activity_id text COLLATE "C" NOT NULL,
    at          bigint NOT NULL,
    PRIMARY KEY (order_id, number)
);

-- The broker corrected a position by an activity, such as a fraction that it had paid in cash and
-- gave back. The difference is the house's.
CREATE TABLE position_corrections (
    activity_id text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES broker_activities (id),
    asset_id    bigint NOT NULL REFERENCES assets (id),
    change      bigint NOT NULL,
    at          bigint NOT NULL
);

-- The house's shares; negative: it owes them to the users.
CREATE TABLE house_holdings (
    asset_id bigint NOT NULL PRIMARY KEY REFERENCES assets (id),
    quantity bigint NOT NULL,
    short_since bigint NOT NULL DEFAULT 0 -- since when it is negative
);
INSERT INTO house_holdings (asset_id, quantity)
    SELECT p.asset_id, p.booked - coalesce((SELECT sum(h.quantity)::bigint FROM holdings h WHERE h.asset_id = p.asset_id), 0)
    FROM positions p;

-- The stocks that users of an app hold or held.
CREATE TABLE app_assets (
    app_id   bytea NOT NULL,
    asset_id bigint NOT NULL,
    PRIMARY KEY (app_id, asset_id)
);
INSERT INTO app_assets (app_id, asset_id) SELECT DISTINCT app_id, asset_id FROM holdings;

-- What the house ordered on the day to buy shares that it owes.
ALTER TABLE spending ADD COLUMN shortage bigint NOT NULL DEFAULT 0;
ALTER TABLE holdings ADD COLUMN generation bigint NOT NULL DEFAULT 0;
ALTER TABLE prices ADD COLUMN generation bigint NOT NULL DEFAULT 0;
ALTER TABLE orders ADD COLUMN generation bigint NOT NULL DEFAULT 0;
ALTER TABLE apps ADD COLUMN dividends bigint NOT NULL DEFAULT 1 CHECK (dividends IN (1, 2)); -- 1 reinvest, 2 house
-- Trades from basis_from on (the broker's time) are in the units of generation; those before are
-- in the units of the generation before: basis_old of these shares became basis_new.
-- pending_from, pending_old and pending_new are the same of the action that holds the stock; 0: no ratio.
ALTER TABLE assets ADD COLUMN generation bigint NOT NULL DEFAULT 0;
ALTER TABLE assets ADD COLUMN basis_from bigint NOT NULL DEFAULT 0;
ALTER TABLE assets ADD COLUMN basis_old bigint NOT NULL DEFAULT 1;
ALTER TABLE assets ADD COLUMN basis_new bigint NOT NULL DEFAULT 1;
ALTER TABLE assets ADD COLUMN pending_from bigint NOT NULL DEFAULT 0;
ALTER TABLE assets ADD COLUMN pending_old bigint NOT NULL DEFAULT 0;
ALTER TABLE assets ADD COLUMN pending_new bigint NOT NULL DEFAULT 0;
ALTER TABLE assets ADD COLUMN former_broker_id text COLLATE "C" NOT NULL DEFAULT '';
-- The units that a hold of an earlier version began are unknown until the next leader reads its actions.
UPDATE assets SET pending_from = hold_from;

CREATE OR REPLACE VIEW readable.apps AS SELECT readable.id(t.id) AS id, t.name, t.suspended = 1 AS suspended,
    readable.created(t.id) AS created_at, t.requests_per_second, t.concurrent,
    (ARRAY['reinvest', 'house'])[t.dividends] AS dividends FROM apps t CROSS JOIN (VALUES (1)) AS one;
CREATE OR REPLACE VIEW readable.assets AS SELECT t.id, t.broker_id, t.symbol, t.name, t.enabled = 1 AS enabled,
    t.gone = 1 AS gone, t.used = 1 AS used, readable.moment(t.doubt_since) AS doubt_since,
    readable.nano(t.doubt_price) AS doubt_price, readable.moment(t.hold_from) AS hold_from, t.generation,
    readable.moment(t.basis_from) AS basis_from, t.basis_old, t.basis_new,
    readable.moment(t.pending_from) AS pending_from, t.pending_old, t.pending_new,
    t.former_broker_id FROM assets t CROSS JOIN (VALUES (1)) AS one;
CREATE OR REPLACE VIEW readable.prices AS SELECT a.symbol, readable.nano(t.price) AS price,
    readable.moment(t.traded_at) AS traded_at, readable.moment(t.confirmed_at) AS confirmed_at,
    readable.nano(t.accepted) AS accepted, t.generation FROM prices t JOIN assets a ON a.id = t.asset_id;
CREATE OR REPLACE VIEW readable.orders AS SELECT readable.id(t.id) AS id, t.client_order_id, t.asset_id, t.symbol,
    readable.usd(t.notional) AS notional, readable.usd(t.house) AS house,
    encode(t.members_hash, 'hex') AS members_hash,
    (ARRAY['planned', 'submitted', 'open', 'quarantined', 'resolved', 'settled', 'refused'])[t.state] AS state,
    t.attempts, readable.created(t.id) AS created_at, readable.moment(t.first_attempt_at) AS first_attempt_at,
    readable.moment(t.next_attempt_at) AS next_attempt_at, readable.moment(t.deadline) AS deadline,
    t.broker_id, t.broker_status, readable.nano(t.filled_qty) AS filled_qty,
    readable.nano(t.filled_avg_price) AS filled_avg_price, readable.moment(t.filled_at) AS filled_at,
    readable.moment(t.terminal_since) AS terminal_since, t.reason, readable.nano(t.house_shares) AS house_shares,
    readable.moment(t.settled_at) AS settled_at, t.refused_sessions,
    readable.moment(t.refused_until) AS refused_until, t.generation FROM orders t CROSS JOIN (VALUES (1)) AS one;
CREATE OR REPLACE VIEW readable.holdings AS SELECT readable.id(t.app_id) AS app_id, readable.id(t.user_id) AS user_id,
    a.symbol, readable.nano(t.quantity) AS quantity, readable.usd(t.cost_basis) AS cost_basis, t.generation
    FROM holdings t JOIN assets a ON a.id = t.asset_id;
DROP VIEW readable.actions;
CREATE VIEW readable.actions AS SELECT t.id, a.symbol AS asset, t.type, t.symbol, t.new_symbol, t.old_rate,
    t.new_rate, t.rate, t.ex_date, t.process_date, t.revision,
    (ARRAY['announced', 'held', 'ignored', 'withdrawn', 'passed', 'applied', 'swept', 'undone', 'undoing'])[t.state]
        AS state, readable.moment(t.hold_from) AS hold_from, readable.moment(t.first_seen) AS first_seen,
    readable.moment(t.held_at) AS held_at, readable.moment(t.decided_at) AS decided_at, t.reason, t.note,
    t.pay_date, t.waits_for, readable.moment(t.boundary) AS boundary,
    readable.moment(t.approved_at) AS approved_at, readable.moment(t.applied_at) AS applied_at
    FROM actions t JOIN assets a ON a.id = t.asset_id;
CREATE OR REPLACE VIEW readable.spending AS SELECT (readable.moment(t.day) AT TIME ZONE 'UTC')::date AS day,
    readable.usd(t.notional) AS notional, readable.usd(t.house) AS house, readable.usd(t.shortage) AS shortage
    FROM spending t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.switches AS SELECT t.number, t.action_id, a.symbol AS asset, t.generation, t.undoes, t.keep_old,
    t.keep_new, t.target_id, t.give_old, t.give_new, t.basis_part, t.basis_ends = 1 AS basis_ends,
    readable.moment(t.entitled_at) AS entitled_at, readable.moment(t.at) AS at,
    readable.moment(t.swept_at) AS swept_at,
    encode(t.swept_app, 'hex') AS swept_app, encode(t.swept_user, 'hex') AS swept_user,
    readable.nano(t.users_before) AS users_before, readable.nano(t.users_after) AS users_after,
    readable.nano(t.users_given) AS users_given, readable.nano(t.booked) AS booked,
    readable.nano(t.position) AS position, readable.nano(t.target_booked) AS target_booked,
    readable.nano(t.target_position) AS target_position FROM switches t JOIN assets a ON a.id = t.asset_id;
CREATE VIEW readable.effects AS SELECT t.switch, readable.id(t.app_id) AS app_id, readable.id(t.user_id) AS user_id,
    a.symbol, readable.nano(t.before) AS before, readable.nano(t.after) AS after,
    readable.usd(t.basis_before) AS basis_before, readable.usd(t.basis_after) AS basis_after,
    readable.nano(t.entitled) AS entitled,
    readable.usd(t.cash) AS cash, encode(t.reward_id, 'hex') AS reward_id FROM effects t JOIN assets a ON a.id = t.asset_id;
CREATE VIEW readable.payouts AS SELECT t.action_id, t.switch, t.activity_id, readable.usd(t.net) AS net,
    readable.nano(t.counted) AS counted, readable.usd(t.shared) AS shared, readable.moment(t.at) AS at,
    readable.moment(t.shared_at) AS shared_at, readable.moment(t.paid_at) AS paid_at,
    encode(t.paid_app, 'hex') AS paid_app, encode(t.paid_user, 'hex') AS paid_user
    FROM payouts t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.broker_activities AS SELECT t.id, t.type, t.sub_type, t.status, t.group_id, t.previous,
    t.order_id, t.symbol, t.date, readable.moment(t.at) AS at, readable.nano(t.qty) AS qty,
    readable.nano(t.cum_qty) AS cum_qty, readable.nano(t.price) AS price, readable.usd(t.net) AS net, t.per_share,
    t.body, t.problem, readable.moment(t.seen_at) AS seen_at FROM broker_activities t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.order_corrections AS SELECT readable.id(t.order_id) AS order_id, t.number,
    readable.nano(t.filled_qty) AS filled_qty, readable.nano(t.change) AS change, t.activity_id,
    readable.moment(t.at) AS at FROM order_corrections t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.position_corrections AS SELECT t.activity_id, a.symbol, readable.nano(t.change) AS change,
    readable.moment(t.at) AS at FROM position_corrections t JOIN assets a ON a.id = t.asset_id;
CREATE VIEW readable.house_holdings AS SELECT a.symbol, readable.nano(t.quantity) AS quantity,
    readable.moment(t.short_since) AS short_since FROM house_holdings t JOIN assets a ON a.id = t.asset_id;
CREATE VIEW readable.app_assets AS SELECT readable.id(t.app_id) AS app_id, a.symbol
    FROM app_assets t JOIN assets a ON a.id = t.asset_id;
