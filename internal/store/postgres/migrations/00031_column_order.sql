-- The columns of rewards in an order in which a row takes 235 bytes instead of 260: numbers first, so that there are no
-- gaps between them, and no trace of the column that 00021 dropped. Only a store without rewards gets it: nothing depends
-- on the order, and to write millions of rows again would take minutes.

-- +goose Up
LOCK TABLE open_rewards, rewards IN ACCESS EXCLUSIVE MODE; -- at once, as readers take several too
-- +goose StatementBegin
DO $$
DECLARE
    again text[] := ARRAY[pg_get_functiondef('member_at'::regproc)]; -- makes again what needs the table
    part record;
BEGIN
    -- With rewards, or with what the migrations did not make, such as a trigger, a policy or an index, the table stays.
    IF EXISTS (SELECT 1 FROM rewards)
        OR EXISTS (SELECT 1 FROM pg_depend WHERE refclassid = 'pg_class'::regclass AND refobjid = 'rewards'::regclass
            AND classid <> ALL ('{pg_attrdef, pg_class, pg_constraint, pg_proc, pg_rewrite, pg_type}'::regclass[]))
        OR EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = 'rewards'::regclass AND attacl IS NOT NULL)
        OR (SELECT count(*) FROM pg_index WHERE indrelid = 'rewards'::regclass) > 5 THEN
        RETURN;
    END IF;
    DROP FUNCTION member_at;
    -- A view that reads nothing, with the same columns and rights, is there meanwhile.
    FOR part IN SELECT c.oid::regclass AS name, pg_get_viewdef(c.oid) AS definition,
        (SELECT string_agg(format('NULL::%s%s AS %I', format_type(a.atttypid, a.atttypmod), ' COLLATE ' || l.oid::regcollation, a.attname),
            ', ' ORDER BY a.attnum) FROM pg_attribute a LEFT JOIN pg_collation l ON l.oid = a.attcollation
            WHERE a.attrelid = c.oid AND a.attnum > 0) AS nothing
        FROM pg_class c WHERE c.oid = ANY ('{all_members, member_rewards, order_members, readable.rewards}'::regclass[])
    LOOP
        again := format('CREATE OR REPLACE VIEW %s AS %s', part.name, part.definition) || again;
        EXECUTE format('CREATE OR REPLACE VIEW %s AS SELECT %s', part.name, part.nothing);
    END LOOP;
    FOR part IN SELECT x.privilege_type AS may, CASE x.grantee WHEN 0 THEN 'public' ELSE x.grantee::regrole::text END AS grantee
        FROM pg_class c CROSS JOIN aclexplode(c.relacl) AS x WHERE c.oid = 'rewards'::regclass
    LOOP
        again := again || format('GRANT %s ON rewards TO %s', part.may, part.grantee);
    END LOOP;

    DROP TABLE rewards;
    CREATE TABLE rewards (
        amount          BIGINT NOT NULL,
        asset_id        BIGINT NOT NULL,
        status          BIGINT NOT NULL DEFAULT 1,
        booked          BIGINT NOT NULL DEFAULT 0,
        executed_at     BIGINT NOT NULL DEFAULT 0,
        counted         BIGINT NOT NULL DEFAULT 1,
        place           BIGINT NOT NULL DEFAULT 0, -- in the last booked order
        shares          BIGINT NOT NULL DEFAULT 0, -- that its booked orders bought
        segment         INTEGER NOT NULL DEFAULT 0,
        app_id          BYTEA NOT NULL,
        id              BYTEA NOT NULL,
        user_id         BYTEA NOT NULL,
        idempotency_key TEXT COLLATE "C" NOT NULL,
        fingerprint     BYTEA NOT NULL,
        symbol          TEXT COLLATE "C" NOT NULL,
        source          TEXT COLLATE "C" NOT NULL,
        metadata        TEXT COLLATE "C" NOT NULL,
        failure_reason  TEXT COLLATE "C" NOT NULL DEFAULT '',
        PRIMARY KEY (app_id, id)
    ) WITH (fillfactor = 85);
    CREATE UNIQUE INDEX rewards_by_key ON rewards (reward_key(segment, app_id, idempotency_key));
    CREATE INDEX rewards_by_user ON rewards (user_entry(segment, user_id), substring(id FROM 1 FOR 6));
    CREATE INDEX rewards_failed ON rewards (app_id, id) WHERE failure_reason <> '';
    CREATE INDEX rewards_failed_by_user ON rewards (user_id, app_id, id) WHERE failure_reason <> '';

    FOR part IN SELECT a.statement FROM unnest(again) WITH ORDINALITY AS a (statement, n) ORDER BY a.n LOOP
        EXECUTE part.statement;
    END LOOP;
EXCEPTION WHEN dependent_objects_still_exist THEN
    RETURN; -- nor is the table dropped that a view or a function of somebody else reads
END
$$;
-- +goose StatementEnd
