-- Rewards are found by idempotency key and by user in segments of equal size: see
-- internal/store/LAYOUT.md. A reward's number is its rowid: rewards are never deleted, so that
-- numbers have no gaps. IndexRewards of package store fills the segments of a store from before,
-- and drops rewards_by_key and rewards_by_user.

-- +goose Up
CREATE TABLE segments (
    number       INTEGER NOT NULL PRIMARY KEY CHECK (number >= 0), -- it is sealed
    first_reward INTEGER NOT NULL CHECK (first_reward > 0),
    last_reward  INTEGER NOT NULL CHECK (last_reward >= first_reward)
) STRICT;

CREATE TABLE segment_filters (
    first INTEGER NOT NULL PRIMARY KEY CHECK (first >= 0),
    last  INTEGER NOT NULL CHECK (last >= first),
    bits  BLOB    NOT NULL
) STRICT;

CREATE TABLE reward_keys (
    segment INTEGER NOT NULL,
    hash    INTEGER NOT NULL, -- of the app and the idempotency key
    number  INTEGER NOT NULL,
    PRIMARY KEY (segment, hash, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE reward_users (
    segment INTEGER NOT NULL,
    hash    INTEGER NOT NULL, -- of the user
    number  INTEGER NOT NULL,
    PRIMARY KEY (segment, hash, number)
) STRICT, WITHOUT ROWID;
