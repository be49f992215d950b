-- What operators did: each row carries the hash of the one before, and no row is
-- changed or deleted. Package rewards says what a deed is and how it is hashed.

-- +goose Up
CREATE TABLE operator_log (
    number       INTEGER NOT NULL PRIMARY KEY CHECK (number > 0),
    at           INTEGER NOT NULL,
    actor        TEXT    NOT NULL CHECK (actor <> ''),
    command      TEXT    NOT NULL CHECK (command <> ''),
    object       TEXT    NOT NULL CHECK (object <> ''),
    state_before TEXT    NOT NULL,
    state_after  TEXT    NOT NULL,
    reason       TEXT    NOT NULL,
    previous     BLOB    NOT NULL CHECK (length(previous) = 33),
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 33)
) STRICT;

-- +goose StatementBegin
CREATE TRIGGER operator_log_kept BEFORE UPDATE ON operator_log
BEGIN SELECT RAISE(ABORT, 'the operator log is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER operator_log_whole BEFORE DELETE ON operator_log
BEGIN SELECT RAISE(ABORT, 'the operator log is append-only'); END;
-- +goose StatementEnd
