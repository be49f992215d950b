-- What operators did: each row carries the hash of the one before, and no row is
-- changed or deleted. Package rewards says what a deed is and how it is hashed.

-- +goose Up
CREATE TABLE operator_log (
    number       bigint NOT NULL PRIMARY KEY CHECK (number > 0),
    at           bigint NOT NULL,
    actor        text COLLATE "C" NOT NULL CHECK (actor <> ''),
    command      text COLLATE "C" NOT NULL CHECK (command <> ''),
    object       text COLLATE "C" NOT NULL CHECK (object <> ''),
    state_before text COLLATE "C" NOT NULL,
    state_after  text COLLATE "C" NOT NULL,
    reason       text COLLATE "C" NOT NULL,
    previous     bytea  NOT NULL CHECK (octet_length(previous) = 33),
    hash         bytea  NOT NULL UNIQUE CHECK (octet_length(hash) = 33)
);

-- +goose StatementBegin
CREATE FUNCTION keep_operator_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the operator log is append-only';
END $$;
-- +goose StatementEnd
CREATE TRIGGER operator_log_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON operator_log
    FOR EACH STATEMENT EXECUTE FUNCTION keep_operator_log();

CREATE VIEW readable.operator_log AS SELECT t.number, readable.moment(t.at) AS at, t.actor, t.command, t.object,
    t.state_before, t.state_after, t.reason, encode(t.previous, 'hex') AS previous, encode(t.hash, 'hex') AS hash
    FROM operator_log t CROSS JOIN (VALUES (1)) AS one;
