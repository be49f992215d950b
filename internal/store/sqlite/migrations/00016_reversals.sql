-- Awards are taken back. Package rewards has the rules.

-- +goose Up
-- state: 1 pending, 2 completed, 3 ordered by an operator for an executed award. quantity went to the
-- house, of the award's stock or its successor. after_switch is the number of the last switch then.
CREATE TABLE reversals (
    app_id          BLOB    NOT NULL,
    id              BLOB    NOT NULL CHECK (length(id) = 16),
    reward_id       BLOB    NOT NULL,
    user_id         BLOB    NOT NULL,
    idempotency_key TEXT    NOT NULL,
    fingerprint     BLOB    NOT NULL CHECK (length(fingerprint) = 33),
    amount          INTEGER NOT NULL CHECK (amount > 0),
    reason          TEXT    NOT NULL,
    state           INTEGER NOT NULL CHECK (state BETWEEN 1 AND 3),
    quantity        INTEGER NOT NULL DEFAULT 0 CHECK (quantity >= 0),
    after_switch    INTEGER NOT NULL DEFAULT 0 CHECK (after_switch >= 0),
    completed_at    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (app_id, id),
    FOREIGN KEY (app_id, reward_id) REFERENCES rewards (app_id, id),
    CHECK ((state = 2) = (completed_at > 0)),
    CHECK (state = 2 OR quantity = 0)
) STRICT;
CREATE UNIQUE INDEX reversals_by_key ON reversals (app_id, idempotency_key);
CREATE INDEX reversals_of_reward ON reversals (app_id, reward_id, id);
CREATE INDEX reversals_of_user ON reversals (app_id, user_id, id);
CREATE INDEX reversals_open ON reversals (app_id, id) WHERE completed_at = 0;
CREATE INDEX reversals_completed ON reversals (app_id, id) WHERE completed_at > 0;
CREATE INDEX reversals_ordered ON reversals (state) WHERE state = 3;
CREATE INDEX reversals_since ON reversals (completed_at) WHERE completed_at > 0;

-- What a reversal took of a user's holdings, for the house.
CREATE TABLE takings (
    app_id      BLOB    NOT NULL,
    reversal_id BLOB    NOT NULL,
    asset_id    INTEGER NOT NULL REFERENCES assets (id),
    quantity    INTEGER NOT NULL CHECK (quantity >= 0),
    basis       INTEGER NOT NULL CHECK (basis >= 0), -- of the cost basis
    PRIMARY KEY (app_id, reversal_id, asset_id),
    FOREIGN KEY (app_id, reversal_id) REFERENCES reversals (app_id, id)
) STRICT, WITHOUT ROWID;
