-- Awards are taken back. Package rewards has the rules.

-- +goose Up
-- state: 1 pending, 2 completed, 3 ordered by an operator for an executed award. quantity went to the
-- house, of the award's stock or its successor. after_switch is the number of the last switch then.
CREATE TABLE reversals (
    app_id          bytea  NOT NULL,
    id              bytea  NOT NULL CHECK (length(id) = 16),
    reward_id       bytea  NOT NULL,
    user_id         bytea  NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    fingerprint     bytea  NOT NULL CHECK (length(fingerprint) = 33),
    amount          bigint NOT NULL CHECK (amount > 0),
    reason          text COLLATE "C" NOT NULL,
    state           bigint NOT NULL CHECK (state BETWEEN 1 AND 3),
    quantity        bigint NOT NULL DEFAULT 0 CHECK (quantity >= 0),
    after_switch    bigint NOT NULL DEFAULT 0 CHECK (after_switch >= 0),
    completed_at    bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (app_id, id),
    CHECK ((state = 2) = (completed_at > 0)),
    CHECK (state = 2 OR quantity = 0)
);
CREATE UNIQUE INDEX reversals_by_key ON reversals (app_id, idempotency_key);
CREATE INDEX reversals_of_reward ON reversals (app_id, reward_id, id);
CREATE INDEX reversals_of_user ON reversals (app_id, user_id, id);
CREATE INDEX reversals_open ON reversals (app_id, id) WHERE completed_at = 0;
CREATE INDEX reversals_completed ON reversals (app_id, id) WHERE completed_at > 0;
CREATE INDEX reversals_ordered ON reversals (state) WHERE state = 3;
CREATE INDEX reversals_since ON reversals (completed_at) WHERE completed_at > 0;

-- What a reversal took of a user's holdings, for the house.
CREATE TABLE takings (
    app_id      bytea  NOT NULL,
    reversal_id bytea  NOT NULL,
    asset_id    bigint NOT NULL REFERENCES assets (id),
    quantity    bigint NOT NULL CHECK (quantity >= 0),
    basis       bigint NOT NULL CHECK (basis >= 0), -- of the cost basis
    PRIMARY KEY (app_id, reversal_id, asset_id)
);

CREATE VIEW readable.reversals AS SELECT readable.id(t.app_id) AS app_id, readable.id(t.id) AS id,
    readable.id(t.reward_id) AS reward_id, readable.id(t.user_id) AS user_id, t.idempotency_key,
    encode(t.fingerprint, 'hex') AS fingerprint, readable.usd(t.amount) AS amount, t.reason,
    (ARRAY['pending', 'completed', 'ordered'])[t.state] AS state, readable.nano(t.quantity) AS quantity,
    t.after_switch, readable.created(t.id) AS created_at, readable.moment(t.completed_at) AS completed_at
    FROM reversals t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.takings AS SELECT readable.id(t.app_id) AS app_id, readable.id(t.reversal_id) AS reversal_id,
    a.symbol, readable.nano(t.quantity) AS quantity, readable.usd(t.basis) AS basis
    FROM takings t JOIN assets a ON a.id = t.asset_id;
