-- An index of users changed a random page for each new reward. Now reward_batches also has the users of new rewards, and a
-- sealed segment has its users in user_blocks: see LAYOUT.md.

-- +goose Up
LOCK TABLE reward_batches, segments, key_blocks, open_rewards, rewards IN ACCESS EXCLUSIVE MODE; -- in the order of readers
ALTER TABLE reward_batches ADD COLUMN users BYTEA NOT NULL DEFAULT ''; -- 6 bytes for each reward: bytes 13 to 16 of its user's id, then 11 and 12
ALTER TABLE reward_batches ALTER users SET STORAGE EXTERNAL; -- it cannot be compressed
CREATE TABLE user_blocks (
    segment INTEGER NOT NULL,
    first   BYTEA NOT NULL, -- the first entry
    entries BYTEA NOT NULL, -- 22 bytes for each reward: the 6 of its user, and its id
    PRIMARY KEY (segment, first)
);
ALTER TABLE user_blocks ALTER entries SET STORAGE EXTERNAL;
ALTER TABLE segments ADD COLUMN users SMALLINT NOT NULL DEFAULT 0; -- where its users are: 0 the index rewards_by_user, 1 reward_batches, 2 user_blocks
CREATE OR REPLACE VIEW readable.reward_batches AS SELECT t.number, t.mark, t.segment, encode(t.keys, 'hex') AS keys,
    encode(t.ids, 'hex') AS ids, encode(t.users, 'hex') AS users FROM reward_batches t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.user_blocks AS SELECT t.segment, encode(t.first, 'hex') AS first, encode(t.entries, 'hex') AS entries
    FROM user_blocks t CROSS JOIN (VALUES (1)) AS one;
CREATE OR REPLACE VIEW readable.segments AS SELECT s.number, s.mark, octet_length(s.filter) AS filter_bytes, s.size,
    (ARRAY['index', 'batches', 'blocks'])[s.keys + 1] AS keys, (ARRAY['index', 'batches', 'blocks'])[s.users + 1] AS users
    FROM segments s CROSS JOIN (VALUES (1)) AS one;

-- With rewards the next segment begins: `serve` seals the users of the others, and drops the index when that is done.
INSERT INTO segments (number, mark, keys) SELECT max(number) + 1, (random() * 9007199254740992)::bigint, 1 FROM segments
    HAVING EXISTS (SELECT 1 FROM rewards);
UPDATE segments SET users = 1 WHERE number = (SELECT max(number) FROM segments);
INSERT INTO reward_batches (number, mark, segment, keys, ids)
    SELECT (SELECT max(number) + 1 FROM reward_batches), (random() * 9007199254740992)::bigint, max(number), '', ''
    FROM segments HAVING EXISTS (SELECT 1 FROM rewards);
ALTER TABLE reward_batches ALTER users DROP DEFAULT;

-- Drops the indexes of keys and of users as soon as no segment needs them, also for a role that does not own the table. It
-- gives up when somebody uses the table for long. It says whether both are gone. It looks for tables in this schema only,
-- not in those of its caller.
DROP FUNCTION drop_key_index();
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('CREATE FUNCTION drop_reward_indexes() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = %I, pg_temp SET lock_timeout = ''20ms'' AS $body$
        BEGIN
            IF NOT EXISTS (SELECT 1 FROM segments WHERE keys = 0) THEN
                DROP INDEX IF EXISTS rewards_by_key;
            END IF;
            IF EXISTS (SELECT 1 FROM segments WHERE users = 0) THEN
                RETURN 0;
            END IF;
            DROP INDEX IF EXISTS rewards_by_user;
            RETURN (NOT EXISTS (SELECT 1 FROM segments WHERE keys = 0))::int;
        EXCEPTION WHEN lock_not_available THEN
            RETURN 0;
        END
        $body$', current_schema());
END
$$;
-- +goose StatementEnd
SELECT drop_reward_indexes();
