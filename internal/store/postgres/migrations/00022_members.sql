-- The members of an order, what the order bought for them, and where a reward's orders and a user's lots are
-- found take less than half of the bytes. Views show them as before: see internal/store/LAYOUT.md.
-- Store.MoveMembers moves the members of booked orders of an earlier version.

-- +goose Up
SET LOCAL statement_timeout = 0; -- all rewards are read twice
LOCK TABLE allocations, open_rewards, order_rewards, orders, rewards IN ACCESS EXCLUSIVE MODE;
ALTER TABLE order_rewards RENAME TO past_members;
ALTER TABLE allocations RENAME TO past_allocations;

-- Members have a place: the number of the order x 1,024 + the position in the order, from 0.
CREATE TABLE members (
    place     bigint   NOT NULL PRIMARY KEY CHECK (place >= 1024),
    amount    bigint   NOT NULL CHECK (amount > 0),
    rest      bigint   NOT NULL CHECK (rest BETWEEN 0 AND amount), -- what the order did not buy
    shares    bigint   NOT NULL CHECK (shares >= 0),
    before    bigint   NOT NULL CHECK (before >= 0),               -- place of the reward in the order booked before
    completes smallint NOT NULL CHECK (completes IN (0, 1)),       -- it is the last part of an executed reward
    app_id    bytea    NOT NULL,
    reward_id bytea    NOT NULL
);

-- What a user's activity has of awards. Its user is that of the reward.
CREATE TABLE lots (
    user_hash bigint NOT NULL,
    at        bigint NOT NULL,
    place     bigint NOT NULL,
    PRIMARY KEY (user_hash, at, place)
);

-- Spans of ids, each of 128 milliseconds, with an executed reward of the app.
CREATE TABLE executed_spans (
    app_id bytea NOT NULL,
    first  bytea NOT NULL CHECK (length(first) = 6),
    until  bytea NOT NULL CHECK (length(until) = 6),
    PRIMARY KEY (app_id, first)
);

ALTER TABLE orders ADD COLUMN number bigint NOT NULL DEFAULT 0; -- 0: its members are in past_members
CREATE UNIQUE INDEX orders_by_number ON orders (number) WHERE number > 0;
CREATE INDEX orders_past ON orders (id) WHERE number = 0;
ALTER TABLE open_rewards ADD COLUMN place bigint NOT NULL DEFAULT 0; -- in the order that has it
ALTER TABLE rewards ADD COLUMN place bigint NOT NULL DEFAULT 0;      -- in the last booked order
ALTER TABLE rewards ADD COLUMN shares bigint NOT NULL DEFAULT 0;     -- that its booked orders bought

UPDATE orders SET number = n FROM (SELECT id AS live, row_number() OVER (ORDER BY id) AS n FROM orders WHERE state < 6) AS l
    WHERE id = live;
INSERT INTO members (place, app_id, reward_id, amount, rest, shares, completes, before)
    SELECT o.number * 1024 + m.position, m.app_id, m.reward_id, m.amount, m.amount, 0, 0, 0
    FROM orders o JOIN past_members m ON m.order_id = o.id WHERE o.state < 6;
UPDATE open_rewards r SET place = m.place FROM members m
    WHERE m.app_id = r.app_id AND m.reward_id = r.id AND r.status = 2 AND r.waiting = 0;
DELETE FROM past_members WHERE order_id IN (SELECT id FROM orders WHERE state < 6);

-- A reward is found by a hash of its app and its idempotency key, 23 bytes of SHA-256, and by its user without the
-- app, as ids of users are unique. The hash must never change: an index has it. A page keeps room for the one
-- update of each row, which then changes no index.
CREATE FUNCTION reward_key(app bytea, key text) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN substring(sha256(app || decode(replace(key, '\', '\\'), 'escape')) FOR 23);
DROP INDEX rewards_by_key;
CREATE UNIQUE INDEX rewards_by_key ON rewards (reward_key(app_id, idempotency_key));
DROP INDEX rewards_by_user;
CREATE INDEX rewards_by_user ON rewards (user_id, id);
ALTER TABLE rewards SET (fillfactor = 85); -- of pages that are filled from now on

-- Members with their rewards, and as they are read by order: those that are not moved yet, too.
CREATE VIEW member_rewards AS SELECT m.place, m.amount, m.rest, m.shares, m.completes, m.before, 0::bigint AS number,
    m.app_id, m.reward_id, r.user_id, r.amount AS reward_amount, r.status, r.booked, r.counted,
    r.place AS reward_place, r.shares AS reward_shares
    FROM members m CROSS JOIN LATERAL (SELECT * FROM rewards r WHERE r.app_id = m.app_id AND r.id = m.reward_id OFFSET 0) AS r;
CREATE VIEW order_members AS
    SELECT o.id AS order_id, m.place - o.number * 1024 AS position, m.app_id, m.reward_id, m.amount,
        m.amount - m.rest AS bought, m.shares, m.completes * m.reward_amount AS cost, m.place, m.user_id, m.status,
        m.reward_place FROM orders o CROSS JOIN member_rewards m
        WHERE m.place >= o.number * 1024 AND m.place < o.number * 1024 + 1024
    UNION ALL SELECT m.order_id, m.position, m.app_id, m.reward_id, m.amount, coalesce(a.amount, 0),
        coalesce(a.shares, 0), coalesce(a.cost, 0), 0, r.user_id, r.status, r.place FROM past_members m
        CROSS JOIN LATERAL (SELECT * FROM rewards r WHERE r.app_id = m.app_id AND r.id = m.reward_id OFFSET 0) AS r
        LEFT JOIN past_allocations a
        ON a.app_id = m.app_id AND a.reward_id = m.reward_id AND a.order_id = m.order_id;
CREATE VIEW order_rewards AS
    SELECT o.id AS order_id, m.place - o.number * 1024 AS position, m.app_id, m.reward_id, m.amount
        FROM orders o CROSS JOIN members m
        WHERE m.place >= o.number * 1024 AND m.place < o.number * 1024 + 1024
    UNION ALL SELECT order_id, position, app_id, reward_id, amount FROM past_members;
CREATE VIEW allocations AS
    SELECT m.app_id, m.reward_id, o.id AS order_id, m.amount - m.rest AS amount, m.shares, m.user_id,
        o.settled_at AS at, m.completes * m.reward_amount AS cost FROM orders o CROSS JOIN member_rewards m
        WHERE m.place >= o.number * 1024 AND m.place < o.number * 1024 + 1024 AND m.rest < m.amount
    UNION ALL SELECT app_id, reward_id, order_id, amount, shares, user_id, at, cost FROM past_allocations;

-- What the audit reads: every member, also of an order or a reward that does not exist.
CREATE VIEW all_members AS
    SELECT coalesce(o.id, ''::bytea) AS order_id, m.place % 1024 AS position, m.app_id, m.reward_id,
        m.amount, m.amount - m.rest AS bought, m.shares, m.completes::bigint, m.before, m.place
        FROM members m LEFT JOIN orders o ON o.number > 0 AND o.number = m.place / 1024
    UNION ALL SELECT m.order_id, m.position, m.app_id, m.reward_id, m.amount, coalesce(a.amount, 0),
        coalesce(a.shares, 0), CASE WHEN a.cost > 0 THEN 1 ELSE 0 END, 0, 0
        FROM past_members m LEFT JOIN past_allocations a ON a.app_id = m.app_id AND a.reward_id = m.reward_id AND a.order_id = m.order_id;

CREATE VIEW readable.past_members AS SELECT readable.id(t.order_id) AS order_id, t.position,
    readable.id(t.app_id) AS app_id, readable.id(t.reward_id) AS reward_id, readable.usd(t.amount) AS amount
    FROM past_members t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.past_allocations AS SELECT readable.id(t.app_id) AS app_id,
    readable.id(t.reward_id) AS reward_id, readable.id(t.order_id) AS order_id, readable.usd(t.amount) AS amount,
    readable.nano(t.shares) AS shares, readable.id(t.user_id) AS user_id, readable.moment(t.at) AS at,
    readable.usd(t.cost) AS cost FROM past_allocations t CROSS JOIN (VALUES (1)) AS one;
CREATE OR REPLACE VIEW readable.order_rewards AS SELECT readable.id(t.order_id) AS order_id, t.position,
    readable.id(t.app_id) AS app_id, readable.id(t.reward_id) AS reward_id, readable.usd(t.amount) AS amount
    FROM order_rewards t CROSS JOIN (VALUES (1)) AS one;
CREATE OR REPLACE VIEW readable.allocations AS SELECT readable.id(t.app_id) AS app_id,
    readable.id(t.reward_id) AS reward_id, readable.id(t.order_id) AS order_id, readable.usd(t.amount) AS amount,
    readable.nano(t.shares) AS shares, readable.id(t.user_id) AS user_id, readable.moment(t.at) AS at,
    readable.usd(t.cost) AS cost FROM allocations t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.members AS SELECT t.place, t.place / 1024 AS order_number, t.place % 1024 AS position,
    readable.id(t.app_id) AS app_id, readable.id(t.reward_id) AS reward_id, readable.usd(t.amount) AS amount,
    readable.usd(t.rest) AS rest, readable.nano(t.shares) AS shares, t.completes = 1 AS completes, t.before
    FROM members t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.lots AS SELECT t.user_hash, readable.moment(t.at) AS at, t.place
    FROM lots t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.executed_spans AS SELECT readable.id(t.app_id) AS app_id, encode(t.first, 'hex') AS first,
    encode(t.until, 'hex') AS until FROM executed_spans t CROSS JOIN (VALUES (1)) AS one;
