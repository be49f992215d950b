package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// maxSettled is the number of members after which a transaction books no other order. Over SQLite many orders share
// a transaction, because their rewards share pages. Over PostgreSQL a page has room for a few new versions of its
// rows, and loses the old ones only when their transaction has ended: with more versions the indexes change too.
func maxSettled(tx Tx) int {
	const rows, columns = 5_000, 256
	if _, ok := tx.(ColumnTx); ok {
		return columns
	}
	return rows
}

// SettleOrders books the ends of orders in one transaction: the broker's final figures, each member's
// allocation, the users' holdings and the house's shares. It books the first orders of the list, at least one, and
// returns how many: while a client waits to write, or a crowd of clients comes, it leaves the others to the next
// transaction. When one of them cannot be booked, nothing is, and SettleOrders fails with the error of its Booker,
// with ErrOverflow when a holding would be too large, with ErrStale when the order left the state From or a sweep
// changes the holdings of its stock, or with ErrLostLease.
func (s *Store) SettleOrders(ctx context.Context, l rewards.Lease, list ...rewards.OrderEnd) (int, error) {
	change := &holdingChange{cache: s.held}
	var booked []bookedOrder
	var members int
	var took time.Duration
	err := s.writeBookings(ctx, l, func(ctx context.Context, tx Tx) error {
		began := time.Now()
		defer func() { took = time.Since(began) }()
		booked, members = booked[:0], 0
		for _, end := range list {
			b, err := s.settle(ctx, tx, end)
			if err != nil {
				return err
			}
			booked = append(booked, b)
			if members += len(b.results); members >= maxSettled(tx) || s.engine.clientWaits() {
				break
			}
		}
		if err := change.begin(ctx, tx, holdersOf(booked)); err != nil {
			return err
		}
		return s.completeOrders(ctx, tx, booked)
	})
	if err != nil {
		return 0, err
	}
	change.committed()
	for _, b := range booked {
		s.exposed.add(b.apps, b.order.AssetID)
	}
	s.engine.pacer.booked(members, took)
	s.open.booked.Add(int64(members))
	return len(booked), nil
}

// bookedOrder is an order that a transaction books.
type bookedOrder struct {
	order     rewards.Order // as booked
	results   []rewards.Result
	apps      []rewards.AppID // whose users get shares
	reversals bool            // some reversal is pending
}

// settle books the end of an order, up to what must come last in its transaction. The Booker decides,
// given the members in order of arrival and what the house has of the stock.
func (s *Store) settle(ctx context.Context, tx Tx, end rewards.OrderEnd) (b bookedOrder, err error) {
	o := end.Order
	stock, err := readStock(ctx, tx, o.AssetID)
	if err != nil || stock.sweeping {
		return b, staleIf(stock.sweeping, err)
	}
	claims, err := queryClaims(ctx, tx, o)
	if err != nil {
		return b, err
	}
	settlement, err := end.Book(plainClaims(claims), stock.house)
	if err != nil {
		return b, err
	}
	if end.From != o.State {
		if err := updateOrder(ctx, tx, end.From, o); err != nil {
			return b, err
		}
	}
	decided, err := decidedAt(ctx, tx, end)
	if err != nil {
		return b, err
	}
	after := o.WithSettlement(settlement, latest(s.now(), decided))
	after.Generation = stock.generation
	if err := updateOrder(ctx, tx, o.State, after); err != nil {
		return b, err
	}
	if err := bookResults(ctx, tx, after, claims, settlement.Results); err != nil {
		return b, fmt.Errorf("store: cannot book order %s: %w", o.ID, err)
	}
	if err := addPosition(ctx, tx, after, settlement.Results); err != nil {
		return b, err
	}
	apps := appsOf(settlement.Results)
	return bookedOrder{after, settlement.Results, apps, stock.reversals}, s.addAppAssets(ctx, tx, apps, o.AssetID)
}

// completeOrders does what must come last in the transaction that books the orders, because it locks rows
// that clients change.
func (s *Store) completeOrders(ctx context.Context, tx Tx, booked []bookedOrder) error {
	var failed []rewards.Spent
	var events []rewards.EventRow
	var members int64
	for _, b := range booked {
		failed = append(failed, rewards.SpentByFailed(b.results)...)
		for _, row := range b.order.EventsOf(b.results) {
			row.Last += members
			events = append(events, row)
		}
		members += int64(len(b.results))
	}
	if err := giveBack(ctx, tx, failed); err != nil {
		return err
	}
	if err := addEvents(ctx, tx, s.now(), events); err != nil {
		return err
	}
	c := newCompleting(s)
	for _, b := range booked {
		if !b.reversals {
			continue
		}
		if err := c.order(ctx, tx, b.order.ID, b.results); err != nil {
			return err
		}
	}
	return nil
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

// holdersOf lists the users whose holdings the orders change.
func holdersOf(booked []bookedOrder) (users []userKey) {
	for _, b := range booked {
		for i := range b.results {
			if r := &b.results[i]; r.ChangesHolding() {
				users = append(users, userKey{r.AppID, r.UserID})
			}
		}
	}
	return users
}

// errNotExecuting means that the store contradicts itself: the order is not booked, but one
// of its members is not executing. A retry does not help.
var errNotExecuting = errors.New("a reward is not executing in this order")

// bookResults stores what an order bought, and updates its rewards and holdings.
func bookResults(ctx context.Context, tx Tx, o rewards.Order, claims []claim, results []rewards.Result) error {
	if len(claims) != len(results) {
		return fmt.Errorf("store: an order of %d members has %d results", len(claims), len(results))
	}
	if err := bookStatuses(ctx, tx, o, claims, results); err != nil {
		return err
	}
	if err := bookMembers(ctx, tx, o, claims, results); err != nil {
		return err
	}
	var held [][]any
	for i := range results {
		r := &results[i]
		if r.ChangesHolding() {
			held = append(held, []any{
				r.AppID[:], r.UserID[:], int64(o.AssetID), int64(r.Bought.Shares), int64(r.Cost()),
				o.Generation,
			})
		}
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
		if r := &results[i]; r.ChangesHolding() {
			apps = addApp(apps, r.AppID)
		}
	}
	return apps
}
