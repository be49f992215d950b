-- Where a user's lots are found takes 14 bytes for each instead of 105: see LAYOUT.md. Store.MoveLots moves those of an
-- earlier version. Until then readers have both.

-- +goose Up
LOCK TABLE lots IN ACCESS EXCLUSIVE MODE;
DROP VIEW readable.lots;
ALTER TABLE lots RENAME TO past_lots;
ALTER INDEX lots_pkey RENAME TO past_lots_pkey;
CREATE VIEW readable.past_lots AS SELECT t.user_hash, readable.moment(t.at) AS at, t.place
    FROM past_lots t CROSS JOIN (VALUES (1)) AS one;

-- The lots of a booked order, until they are in blocks.
CREATE TABLE order_lots (
    number       BIGINT PRIMARY KEY CHECK (number > 0), -- of the booking: 1, 2, 3 …
    order_number BIGINT NOT NULL CHECK (order_number > 0),
    at           BIGINT NOT NULL,                       -- when the order was settled
    lots         BIGINT NOT NULL CHECK (lots > 0),
    mark         BIGINT NOT NULL,                       -- of the order, its time and the entries
    entries      BYTEA  NOT NULL                        -- 12 bytes for each lot
);
ALTER TABLE order_lots ALTER entries SET STORAGE EXTERNAL; -- it cannot be compressed
CREATE VIEW readable.order_lots AS SELECT t.number, t.order_number, readable.moment(t.at) AS at, t.lots
    FROM order_lots t CROSS JOIN (VALUES (1)) AS one;

CREATE TABLE lot_segments (
    number   BIGINT PRIMARY KEY CHECK (number >= 0),
    last     BIGINT NOT NULL, -- the number of its last booking
    lots     BIGINT NOT NULL CHECK (lots > 0),
    earliest BIGINT NOT NULL, -- when the first of its orders was settled
    latest   BIGINT NOT NULL  -- when the last one was, of it and of all segments before
);
CREATE VIEW readable.lot_segments AS SELECT t.number, t.last, t.lots, readable.moment(t.earliest) AS earliest,
    readable.moment(t.latest) AS latest FROM lot_segments t CROSS JOIN (VALUES (1)) AS one;

CREATE TABLE lot_blocks (
    place      BIGINT PRIMARY KEY, -- the segment x 2^20 + the position in it
    segment    BIGINT NOT NULL,
    first_user BIGINT NOT NULL,    -- of its first lot
    entries    BYTEA  NOT NULL
);
ALTER TABLE lot_blocks ALTER entries SET STORAGE EXTERNAL;
CREATE INDEX lot_blocks_by_user ON lot_blocks (segment, first_user);
CREATE VIEW readable.lot_blocks AS SELECT t.segment, t.place % 1048576 AS position, t.first_user,
    octet_length(t.entries) / 12 AS lots FROM lot_blocks t CROSS JOIN (VALUES (1)) AS one;

-- The next order whose lots are moved.
INSERT INTO settings (name, value) SELECT 'next_past_lots', '1' WHERE EXISTS (SELECT 1 FROM past_lots);
