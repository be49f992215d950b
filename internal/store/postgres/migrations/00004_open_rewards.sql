-- A change of a row costs little while no index has what changes and its page has room
-- (a HOT update); otherwise it makes a new entry in every index. Status and waiting
-- change twice in the life of each reward, so what is found by them is in a table of
-- its own, which holds the few rewards that are not final. Triggers keep it like an
-- index, whoever writes, also a process of an older version during an upgrade.

-- +goose Up
SET LOCAL statement_timeout = 0; -- all rewards are read once
CREATE TABLE open_rewards (
    app_id   bytea  NOT NULL,
    id       bytea  NOT NULL,
    asset_id bigint NOT NULL,
    status   bigint NOT NULL,
    waiting  bigint NOT NULL,
    pending  bigint NOT NULL, -- of the amount, what is not bought
    PRIMARY KEY (app_id, status, id)
) WITH (vacuum_truncate = false); -- it fills again at once, and giving pages back locks all writers out
CREATE INDEX open_rewards_waiting ON open_rewards (asset_id, id) WHERE waiting = 1;

-- Joined sideways, so that each row is looked up whatever the statistics say.
-- +goose StatementBegin
CREATE FUNCTION keep_open_rewards() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM open_rewards WHERE ctid = ANY (ARRAY(
            SELECT o.place FROM was w CROSS JOIN LATERAL (SELECT ctid AS place FROM open_rewards
                WHERE app_id = w.app_id AND status = w.status AND id = w.id OFFSET 0) AS o
                WHERE w.status < 3));
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO open_rewards (app_id, id, asset_id, status, waiting, pending)
            SELECT app_id, id, asset_id, status, waiting, amount - booked FROM became WHERE status < 3;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER open_rewards_insert AFTER INSERT ON rewards
    REFERENCING NEW TABLE AS became FOR EACH STATEMENT EXECUTE FUNCTION keep_open_rewards();
CREATE TRIGGER open_rewards_update AFTER UPDATE ON rewards
    REFERENCING OLD TABLE AS was NEW TABLE AS became FOR EACH STATEMENT EXECUTE FUNCTION keep_open_rewards();
CREATE TRIGGER open_rewards_delete AFTER DELETE ON rewards
    REFERENCING OLD TABLE AS was FOR EACH STATEMENT EXECUTE FUNCTION keep_open_rewards();

INSERT INTO open_rewards (app_id, id, asset_id, status, waiting, pending)
    SELECT app_id, id, asset_id, status, waiting, amount - booked FROM rewards WHERE status < 3;

DROP INDEX rewards_by_status;
DROP INDEX rewards_waiting;
CREATE INDEX rewards_failed ON rewards (app_id, id) WHERE failure_reason <> '';
ALTER TABLE rewards SET (fillfactor = 75);

CREATE VIEW readable.open_rewards AS SELECT readable.id(t.app_id) AS app_id, readable.id(t.id) AS id, t.asset_id,
    (ARRAY['recorded', 'executing'])[t.status] AS status, t.waiting = 1 AS waiting,
    readable.usd(t.pending) AS pending, readable.created(t.id) AS created_at
    FROM open_rewards t CROSS JOIN (VALUES (1)) AS one;
