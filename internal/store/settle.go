package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// SettleOrder books the end of an order in one transaction: the broker's final figures, each
// member's allocation, the users' holdings and the house's shares. book decides, given the
// members in order of arrival and what the house has of the stock. When it fails, nothing is booked
// and its error is returned. SettleOrder fails with ErrStale when the order left the state from, and
// while a sweep changes the holdings of its stock, and with ErrLostLease.
func (s *Store) SettleOrder(
	ctx context.Context, l rewards.Lease, from rewards.OrderState, o rewards.Order,
	book rewards.Booker,
) error {
	change := &holdingChange{cache: s.held}
	var apps []rewards.AppID
	err := s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		stock, err := readStock(ctx, tx, o.AssetID)
		if err != nil || stock.sweeping {
			return staleIf(stock.sweeping, err)
		}
		claims, err := queryClaims(ctx, tx, o.ID)
		if err != nil {
			return err
		}
		settlement, err := book(claims, stock.house)
		if err != nil {
			return err
		}
		booked := o.WithSettlement(settlement, s.now())
		booked.Generation = stock.generation
		if err := updateOrder(ctx, tx, from, booked); err != nil {
			return err
		}
		if err := bookResults(ctx, tx, booked, settlement.Results); err != nil {
			return fmt.Errorf("store: cannot book order %s: %w", o.ID, err)
		}
		if err := giveBack(ctx, tx, rewards.SpentByFailed(settlement.Results)); err != nil {
			return err
		}
		change.begin(holdersOf(settlement.Results))
		if err := addPosition(ctx, tx, booked, settlement.Results); err != nil {
			return err
		}
		apps = appsOf(settlement.Results)
		if err := s.addAppAssets(ctx, tx, apps, o.AssetID); err != nil {
			return err
		}
		if err := addEvents(ctx, tx, booked.SettledAt, booked.EventsOf(settlement.Results)); err != nil {
			return err
		}
		if !stock.reversals {
			return nil
		}
		return s.completeReversals(ctx, tx, o.ID, settlement.Results)
	})
	if err == nil {
		change.committed()
		s.exposed.add(apps, o.AssetID)
	}
	return err
}

// bookedStock is what the booking of an order depends on.
type bookedStock struct {
	generation int64
	sweeping   bool         // a sweep changes holdings of the stock
	reversals  bool         // some reversal is pending
	house      money.Shares // what the house has
}

func readStock(ctx context.Context, tx Tx, asset rewards.AssetID) (s bookedStock, err error) {
	_, err = fetchValues(ctx, tx,
		[]any{&s.generation, toFlag{&s.sweeping}, toFlag{&s.reversals}, (*int64)(&s.house)},
		`SELECT a.generation, CASE WHEN EXISTS (SELECT 1 FROM switches w
				WHERE w.swept_at = 0 AND (w.asset_id = a.id OR w.target_id = a.id)) THEN 1 ELSE 0 END,
			CASE WHEN EXISTS (SELECT 1 FROM reversals v WHERE v.completed_at = 0) THEN 1 ELSE 0 END,
			coalesce((SELECT h.quantity FROM house_holdings h WHERE h.asset_id = a.id), 0)
		FROM assets a WHERE a.id = ?1`, int64(asset))
	return s, err
}

// holdersOf lists the users whose holdings the results change.
func holdersOf(results []rewards.Result) []userKey {
	users := make([]userKey, 0, len(results))
	for i := range results {
		if r := &results[i]; r.ChangesHolding() {
			users = append(users, userKey{r.AppID, r.UserID})
		}
	}
	return users
}

// errNotExecuting means that the store contradicts itself: the order is not booked, but one
// of its members is not executing. A retry does not help.
var errNotExecuting = errors.New("a reward is not executing in this order")

// bookResults stores the allocations of an order and updates its rewards and holdings.
func bookResults(ctx context.Context, tx Tx, o rewards.Order, results []rewards.Result) error {
	if err := bookStatuses(ctx, tx, results); err != nil {
		return err
	}
	var allocated, held [][]any
	for i := range results {
		r := &results[i]
		if r.Bought.Amount > 0 {
			allocated = append(allocated, []any{
				r.AppID[:], r.RewardID[:], o.ID[:], int64(r.Bought.Amount), int64(r.Bought.Shares), r.UserID[:],
				micros(o.SettledAt), int64(r.Cost()),
			})
		}
		if r.ChangesHolding() {
			held = append(held, []any{
				r.AppID[:], r.UserID[:], int64(o.AssetID), int64(r.Bought.Shares), int64(r.Cost()),
				o.Generation,
			})
		}
	}
	const allocate = `INSERT INTO allocations (app_id, reward_id, order_id, amount, shares, user_id, at, cost) `
	err := execRowsLater(ctx, tx, allocate+`VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`,
		allocate+`SELECT * FROM unnest(?1::bytea[], ?2::bytea[], ?3::bytea[], ?4::bigint[], ?5::bigint[], ?6::bytea[],
		?7::bigint[], ?8::bigint[])`, allocated)
	if err != nil {
		return err
	}
	const add = ` ON CONFLICT (app_id, user_id, asset_id) DO UPDATE SET
		quantity = holdings.quantity + excluded.quantity, cost_basis = holdings.cost_basis + excluded.cost_basis`
	return execRowsLater(ctx, tx, `INSERT INTO holdings (app_id, user_id, asset_id, quantity, cost_basis, generation)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6)`+add, `INSERT INTO holdings (app_id, user_id, asset_id, quantity, cost_basis,
		generation) SELECT app_id, user_id, asset_id, sum(quantity)::bigint, sum(cost_basis)::bigint, max(generation)
		FROM unnest(?1::bytea[], ?2::bytea[], ?3::bigint[], ?4::bigint[], ?5::bigint[], ?6::bigint[])
			AS held (app_id, user_id, asset_id, quantity, cost_basis, generation)
		GROUP BY app_id, user_id, asset_id`+add, held)
}

// appsOf lists the apps whose users get shares.
func appsOf(results []rewards.Result) []rewards.AppID {
	var apps []rewards.AppID
	for i := range results {
		if r := &results[i]; r.ChangesHolding() && !slices.Contains(apps, r.AppID) {
			apps = append(apps, r.AppID)
		}
	}
	return apps
}
