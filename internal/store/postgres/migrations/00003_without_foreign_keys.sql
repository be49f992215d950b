-- What grows with every reward refers to others by keys that the statements
-- themselves look up: here a foreign key costs a query of its own for each row. The audit
-- checks that nothing refers to what is not there.

-- +goose Up
ALTER TABLE rewards DROP CONSTRAINT rewards_asset_id_fkey;
ALTER TABLE rewards DROP CONSTRAINT rewards_app_id_user_id_fkey;
ALTER TABLE order_rewards DROP CONSTRAINT order_rewards_order_id_fkey;
ALTER TABLE order_rewards DROP CONSTRAINT order_rewards_app_id_reward_id_fkey;
ALTER TABLE allocations DROP CONSTRAINT allocations_order_id_fkey;
ALTER TABLE allocations DROP CONSTRAINT allocations_app_id_reward_id_fkey;
ALTER TABLE holdings DROP CONSTRAINT holdings_asset_id_fkey;
ALTER TABLE holdings DROP CONSTRAINT holdings_app_id_user_id_fkey;
