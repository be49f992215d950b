-- The members of an order take about 30 bytes each instead of 107: they are stored in blocks of 32, which never change. What
-- finds the rewards of a user takes 41 bytes instead of 76. See LAYOUT.md. Both are made in a transaction of their
-- own, in which others can read; the next migration puts them into use.

-- +goose Up
SET LOCAL statement_timeout = 0; -- all members and rewards are read once
LOCK TABLE members, rewards IN SHARE MODE;

-- A block has the members at the places block x 32 to block x 32 + 31, or the first ones of them.
CREATE TABLE member_blocks (
    block   BIGINT PRIMARY KEY CHECK (block >= 32),
    apps    BYTEA    NOT NULL, -- 16 bytes for each app
    app_of  BYTEA    NOT NULL, -- for each member one byte, which of these is its app
    rewards BYTEA    NOT NULL, -- for each member 16 bytes, the id of its reward
    amounts BIGINT[] NOT NULL,
    CHECK (octet_length(apps) % 16 = 0 AND octet_length(app_of) = cardinality(amounts)
        AND octet_length(rewards) = 16 * cardinality(amounts) AND cardinality(amounts) BETWEEN 1 AND 32)
);
-- What an order did for a member, unless it bought all of a reward that was in no order before: then the reward has it.
CREATE TABLE member_parts (
    place     BIGINT PRIMARY KEY,
    rest      BIGINT   NOT NULL CHECK (rest >= 0),             -- what the order did not buy
    shares    BIGINT   NOT NULL CHECK (shares >= 0),
    before    BIGINT   NOT NULL CHECK (before >= 0),           -- place of the reward in the order booked before
    completes SMALLINT NOT NULL CHECK (completes IN (0, 1))    -- it is the last part of an executed reward
);
-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM members GROUP BY place / 32 HAVING min(place) % 32 > 0 OR max(place) - min(place) >= count(*)) THEN
        RAISE EXCEPTION 'members of orders are missing: run the audit of the version that wrote this database';
    END IF;
END
$$;
-- +goose StatementEnd
INSERT INTO member_blocks (block, apps, app_of, rewards, amounts)
    SELECT block, string_agg(app_id, '' ORDER BY app_id) FILTER (WHERE nth = 1),
        string_agg(set_byte('\x00', 0, app - 1), '' ORDER BY place),
        string_agg(reward_id, '' ORDER BY place), array_agg(amount ORDER BY place)
    FROM (SELECT place, place / 32 AS block, app_id, reward_id, amount,
        dense_rank() OVER (PARTITION BY place / 32 ORDER BY app_id)::int AS app,
        row_number() OVER (PARTITION BY place / 32, app_id ORDER BY place) AS nth FROM members) AS m
    GROUP BY block;
INSERT INTO member_parts (place, rest, shares, before, completes)
    SELECT m.place, coalesce(m.rest, 0), coalesce(m.shares, 0), coalesce(m.before, 0), coalesce(m.completes, 0::smallint)
    FROM members m LEFT JOIN rewards r ON r.app_id = m.app_id AND r.id = m.reward_id
    WHERE (m.rest > 0 OR m.shares > 0 OR m.before > 0 OR m.completes > 0)
        AND (m.rest > 0 OR m.before > 0 OR m.amount IS DISTINCT FROM r.amount);

-- About how many rewards a segment has. Processes add what they recorded.
ALTER TABLE segments ADD COLUMN size BIGINT NOT NULL DEFAULT 0;
UPDATE segments SET size = (SELECT count(*) FROM rewards WHERE segment = number) WHERE number = (SELECT max(number) FROM segments);
CREATE OR REPLACE VIEW readable.segments AS SELECT s.number, s.mark, octet_length(s.filter) AS filter_bytes, s.size
    FROM segments s CROSS JOIN (VALUES (1)) AS one;

-- The segment and 4 random bytes of the user, and the milliseconds of the reward.
CREATE FUNCTION user_entry(segment integer, user_id bytea) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN substring(int4send(segment) FROM 2) || substring(user_id FROM 13);
CREATE INDEX rewards_by_user_entry ON rewards (user_entry(segment, user_id), substring(id FOR 6));
