-- An index of keys changed a random page for each new reward. Now each commit of new rewards is a row of reward_batches,
-- from which every process has the newest keys in memory, and a sealed segment has its keys in key_blocks: see LAYOUT.md.

-- +goose Up
LOCK TABLE open_rewards, rewards IN ACCESS EXCLUSIVE MODE; -- in the order of readers, who would else deadlock
CREATE TABLE reward_batches (
    number  BIGINT PRIMARY KEY, -- 0, 1, 2, 3 …
    mark    BIGINT NOT NULL,    -- random: after a fail-over another batch with this number has another mark
    segment INTEGER NOT NULL,   -- of its rewards
    keys    BYTEA NOT NULL,     -- 8 bytes for each reward: the hash of its key
    ids     BYTEA NOT NULL      -- 16 bytes for each reward
);
CREATE TABLE key_blocks (
    place   BIGINT PRIMARY KEY, -- segment x 2^32 + the first 4 bytes of the hash in the first entry
    entries BYTEA NOT NULL      -- 22 bytes for each reward: the first 6 of the hash of its key, and its id
);
ALTER TABLE reward_batches ALTER keys SET STORAGE EXTERNAL, ALTER ids SET STORAGE EXTERNAL; -- they cannot be compressed
ALTER TABLE key_blocks ALTER entries SET STORAGE EXTERNAL;
ALTER TABLE segments ADD COLUMN keys SMALLINT NOT NULL DEFAULT 0; -- where its keys are: 0 the index rewards_by_key, 1 reward_batches, 2 key_blocks
CREATE VIEW readable.reward_batches AS SELECT t.number, t.mark, t.segment, encode(t.keys, 'hex') AS keys,
    encode(t.ids, 'hex') AS ids FROM reward_batches t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.key_blocks AS SELECT t.place, encode(t.entries, 'hex') AS entries
    FROM key_blocks t CROSS JOIN (VALUES (1)) AS one;
CREATE OR REPLACE VIEW readable.segments AS SELECT s.number, s.mark, octet_length(s.filter) AS filter_bytes, s.size,
    (ARRAY['index', 'batches', 'blocks'])[s.keys + 1] AS keys FROM segments s CROSS JOIN (VALUES (1)) AS one;

-- With rewards the next segment begins: `serve` seals the others again, and drops the index when that is done.
INSERT INTO segments (number, mark) SELECT max(number) + 1, (random() * 9007199254740992)::bigint FROM segments
    HAVING EXISTS (SELECT 1 FROM rewards);
UPDATE segments SET keys = 1 WHERE number = (SELECT max(number) FROM segments);
INSERT INTO reward_batches (number, mark, segment, keys, ids)
    SELECT 0, (random() * 9007199254740992)::bigint, max(number), '', '' FROM segments;

-- Drops the index of keys as soon as no segment needs it, also for a role that does not own the table. It gives up
-- when somebody uses the table for long. It says whether there is no such index any more. It looks for tables in this
-- schema only, not in those of its caller.
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('CREATE FUNCTION drop_key_index() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = %I, pg_temp SET lock_timeout = ''20ms'' AS $body$
        BEGIN
            IF EXISTS (SELECT 1 FROM segments WHERE keys = 0) THEN
                RETURN 0;
            END IF;
            DROP INDEX IF EXISTS rewards_by_key;
            RETURN 1;
        EXCEPTION WHEN lock_not_available THEN
            RETURN 0;
        END
        $body$', current_schema());
END
$$;
-- +goose StatementEnd
SELECT drop_key_index();
