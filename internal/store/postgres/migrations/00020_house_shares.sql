-- An order may offer shares of the house: its part of the notional is then negative, and so are the
-- shares that it gets.

-- +goose Up
-- +goose StatementBegin
DO $$
DECLARE rule record;
BEGIN
    FOR rule IN SELECT conname FROM pg_constraint WHERE contype = 'c' AND conrelid = 'orders'::regclass
        AND (pg_get_constraintdef(oid) LIKE '%house <= notional%' OR pg_get_constraintdef(oid) LIKE '%house_shares%') LOOP
        EXECUTE format('ALTER TABLE orders DROP CONSTRAINT %I', rule.conname);
    END LOOP;
END $$;
-- +goose StatementEnd
ALTER TABLE orders ADD CHECK (house <= notional);
ALTER TABLE orders ADD CHECK (house_shares <= filled_qty);
