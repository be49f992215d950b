-- Where a user's lots are found takes 13 bytes for each instead of 30: see internal/store/LAYOUT.md. Store.MoveLots moves
-- those of an earlier version. Until then readers have both.

-- +goose Up
ALTER TABLE lots RENAME TO past_lots;

-- The lots of a booked order, until they are in blocks.
CREATE TABLE order_lots (
    number       INTEGER NOT NULL PRIMARY KEY CHECK (number > 0), -- of the booking: 1, 2, 3 …
    order_number INTEGER NOT NULL CHECK (order_number > 0),
    at           INTEGER NOT NULL,                                -- when the order was settled
    lots         INTEGER NOT NULL CHECK (lots > 0),
    mark         INTEGER NOT NULL,                                -- of the order, its time and the entries
    entries      BLOB    NOT NULL                                 -- 12 bytes for each lot
) STRICT;

CREATE TABLE lot_segments (
    number   INTEGER NOT NULL PRIMARY KEY CHECK (number >= 0),
    last     INTEGER NOT NULL, -- the number of its last booking
    lots     INTEGER NOT NULL CHECK (lots > 0),
    earliest INTEGER NOT NULL, -- when the first of its orders was settled
    latest   INTEGER NOT NULL  -- when the last one was, of it and of all segments before
) STRICT;

CREATE TABLE lot_blocks (
    place      INTEGER NOT NULL PRIMARY KEY, -- the segment x 2^20 + the position in it
    segment    INTEGER NOT NULL,
    first_user INTEGER NOT NULL,             -- of its first lot
    entries    BLOB    NOT NULL
) STRICT;
CREATE INDEX lot_blocks_by_user ON lot_blocks (segment, first_user);

-- The next order whose lots are moved.
INSERT INTO settings (name, value) SELECT 'next_past_lots', '1' WHERE EXISTS (SELECT 1 FROM past_lots);
