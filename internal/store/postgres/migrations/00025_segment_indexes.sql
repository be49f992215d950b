-- The indexes of keys and of users begin with the segment. They are made in a transaction of their own, in which others
-- can read rewards until the end. The hash of a key, 20 bytes of SHA-256, must never change.

-- +goose Up
SET LOCAL statement_timeout = 0; -- all rewards are read twice
CREATE FUNCTION reward_key(segment integer, app bytea, key text) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN substring(int4send(segment) FROM 2)
        || substring(sha256(app || decode(replace(key, '\', '\\'), 'escape')) FOR 20);
CREATE UNIQUE INDEX rewards_by_segment_and_key ON rewards (reward_key(segment, app_id, idempotency_key));
CREATE INDEX rewards_by_segment_and_user ON rewards (segment, user_id, id);
DROP INDEX rewards_by_key, rewards_by_user;
DROP FUNCTION reward_key(bytea, text);
ALTER INDEX rewards_by_segment_and_key RENAME TO rewards_by_key;
ALTER INDEX rewards_by_segment_and_user RENAME TO rewards_by_user;
