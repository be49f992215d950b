package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// bookings is a store with orders that are booked in full, and what the activity of its users must be.
type bookings struct {
	*World

	want map[rewards.UserID][]rewards.UserActivity
}

// opened is an order that is not booked yet.
type opened struct {
	rewards.Order

	given []rewards.Reward
}

// open gives an award to each of the users with those positions, and orders them together.
func (b *bookings) open(t *testing.T, users ...int) (o opened) {
	t.Helper()
	for _, i := range users {
		r := b.Request(t, 2_000_000)
		r.UserID = b.Users[i].ID
		r.Fingerprint = rewards.NewFingerprint(r, "")
		o.given = append(o.given, b.record(t, r))
	}
	o.Order = b.Open(t)
	return o
}

// book books an order that bought everything.
func (b *bookings) book(t *testing.T, o opened) {
	t.Helper()
	check(t, b.Settle(t, o.Order, "filled", money.Shares(len(o.given))*10_000_000, dollar200))
	booked, err := b.Order(t.Context(), o.ID)
	check(t, err)
	for _, r := range o.given {
		key := rewards.AwardKey(r.ID, o.ID)
		b.want[r.UserID] = append(b.want[r.UserID], rewards.UserActivity{
			Place: rewards.ActivityPlace{At: booked.SettledAt, Kind: rewards.ActivityOfAward, Key: key},
			Type:  "award", Symbol: "AAPL", Quantity: 10_000_000, CostBasis: 2_000_000, Price: dollar200, RewardID: r.ID,
		})
	}
}

// buy orders and books.
func (b *bookings) buy(t *testing.T, users ...int) {
	t.Helper()
	b.book(t, b.open(t, users...))
}

// wantAll checks the activity of every user, by pages of several sizes.
func (b *bookings) wantAll(t *testing.T, when string) {
	t.Helper()
	for i, u := range b.Users {
		want := slices.Clone(b.want[u.ID])
		slices.SortFunc(want, func(x, y rewards.UserActivity) int { return y.Place.Compare(x.Place) })
		for _, limit := range []int{1, 3, 1000} {
			wantEqual(t, fmt.Sprintf("%s, user %d, pages of %d", when, i, limit), want, b.activity(t, u.AppID, u.ID, limit))
		}
	}
}

// testLots books orders of many segments of lots, some of them earlier than those before, as a clock may be set back.
// It seals segments and restarts meanwhile. Every user has every lot once, in order.
func testLots(t *testing.T, w *World) {
	b := &bookings{World: w, want: make(map[rewards.UserID][]rewards.UserActivity)}
	for round := range 24 {
		first, second := b.open(t, 0, 1), b.open(t, 0)
		w.Advance(10 * time.Second)
		b.book(t, first)
		switch round % 3 {
		case 0:
			w.Advance(-5 * time.Second)
		case 1: // the same moment
		default:
			w.Advance(time.Second)
		}
		b.book(t, second)
		if round%5 == 0 {
			b.buy(t, 2)
		}
		switch round % 4 {
		case 1:
			w.reopen(t)
		case 3:
			w.sealAll(t)
		}
		if round%7 == 0 {
			b.wantAll(t, fmt.Sprint("round ", round))
		}
	}
	b.wantAll(t, "before the last segment is sealed")
	w.sealAll(t)
	b.wantAll(t, "sealed")
	w.wantRows(t, "lots", 77, lotRows)
	w.wantRows(t, "lots that fill a segment, not sealed", 0,
		`SELECT count(*) FROM (SELECT sum(lots) AS n FROM order_lots) AS newest WHERE n >= 8`)
}

// testLotsOfBlocks: an order has lots of several blocks, and one user has more than fit in one.
func testLotsOfBlocks(t *testing.T, w *World) {
	b := &bookings{World: w, want: make(map[rewards.UserID][]rewards.UserActivity)}
	var users []int
	for i := range 200 {
		users = append(users, min(i%20, 2))
	}
	for range 2 {
		w.Advance(time.Second)
		b.buy(t, users...)
		w.sealAll(t)
	}
	w.wantRows(t, "blocks", 2*4, `SELECT count(*) FROM lot_blocks`)
	w.wantRows(t, "bookings", 2, `SELECT max(last) FROM lot_segments`)
	for _, u := range w.Users {
		want := slices.Clone(b.want[u.ID])
		slices.SortFunc(want, func(x, y rewards.UserActivity) int { return y.Place.Compare(x.Place) })
		wantEqual(t, "the activity", want, b.activity(t, u.AppID, u.ID, 33))
	}
}

// testLotsAfterTheClock: the clock is set back between bookings, so that each segment has another time than its place.
func testLotsAfterTheClock(t *testing.T, w *World) {
	b := &bookings{World: w, want: make(map[rewards.UserID][]rewards.UserActivity)}
	var orders []opened
	for range 4 {
		orders = append(orders, b.open(t, 0, 1, 1, 1, 1, 1, 1, 1))
	}
	for i, after := range []time.Duration{100 * time.Second, -50 * time.Second, 10 * time.Second, -30 * time.Second} {
		w.Advance(after)
		b.book(t, orders[i])
		w.sealAll(t)
		b.wantAll(t, fmt.Sprint("order ", i))
	}
	w.wantRows(t, "segments", 4, `SELECT count(*) FROM lot_segments`)
}

// testSealAgain: sealing that is interrupted after each of its writes goes on. Until then the lots are read from
// order_lots.
func testSealAgain(t *testing.T, w *World) {
	b := &bookings{World: w, want: make(map[rewards.UserID][]rewards.UserActivity)}
	b.buy(t, 0, 1, 2, 0, 1, 2, 0, 1, 2)
	late := &behind{Engine: w.engine}
	s, err := store.New(t.Context(), late, w.Now, rand.NewChaCha8([32]byte{99}))
	check(t, err)
	s.SealEvery(SegmentSize)
	stopped := errors.New("stopped")
	for writes, done := 0, false; !done; writes++ {
		late.left, late.other = writes, func() error { return stopped }
		switch more, err := s.SealSegment(t.Context()); {
		case errors.Is(err, stopped):
		case err == nil:
			writes, done = -1, !more
		default:
			t.Fatal(err)
		}
		b.wantAll(t, fmt.Sprint("after writes: ", writes))
	}
	b.wantAll(t, "sealed")
	w.wantRows(t, "lots of orders", 0, `SELECT count(*) FROM order_lots`)
}

// testLotsOnce: a page that begins among lots of one time reads on after them, and has none of them twice.
func testLotsOnce(t *testing.T, w *World) {
	b := &bookings{World: w, want: make(map[rewards.UserID][]rewards.UserActivity)}
	for _, users := range [][]int{{0, 1, 1, 1, 1, 1, 1, 1}, {0, 0, 1, 1, 1, 1, 1, 1}, {0, 0}} {
		w.Advance(time.Second)
		b.buy(t, users...)
		w.sealAll(t)
	}
	u := w.Users[0]
	all := b.activity(t, u.AppID, u.ID, 100)
	page := rewards.ActivityPage{Before: all[0].Place, Limit: 4}
	part, err := w.Activity(t.Context(), u.AppID, u.ID, page)
	check(t, err)
	wantEqual(t, "the page after the first entry", all[1:], part)
	wantEqual(t, "entries", 5, len(all))
}

// testLotsOfAnother: after a fail-over that lost lots, others have their numbers. A process that had read the lost ones
// reads these.
func testLotsOfAnother(t *testing.T, w *World) {
	b := &bookings{World: w, want: make(map[rewards.UserID][]rewards.UserActivity)}
	b.buy(t, 0)
	b.wantAll(t, "booked")
	exec := func(statement string, args ...any) {
		t.Helper()
		check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Exec(ctx, "-- only in tests\n"+statement, args...)
			return err
		}))
	}
	exec(`UPDATE order_lots SET entries = ?1`, make([]byte, 12))
	b.wantAll(t, "the lots in memory")
	exec(`UPDATE order_lots SET mark = mark - 1`)
	clear(b.want)
	b.wantAll(t, "the lots of another order")
}

// unmoveLots stores the lots as the version before did.
func (w *World) unmoveLots(t *testing.T) {
	t.Helper()
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		var rows [][]any
		err := tx.Query(ctx, func(row store.Row) error {
			var user blob
			var at, place int64
			err := row.Scan(&user, &at, &place)
			rows = append(rows, []any{int64(binary.BigEndian.Uint64(user[8:])), at, place})
			return err
		}, `SELECT m.user_id, o.settled_at, m.place FROM member_rewards m JOIN orders o ON o.number = m.place / 1024
			WHERE o.state >= 6 AND (m.shares > 0 OR m.completes = 1) -- only in tests`)
		if err != nil {
			return err
		}
		_, err = tx.ExecEach(ctx, `INSERT INTO past_lots (user_hash, at, place) VALUES (?1, ?2, ?3) -- only in tests`, rows)
		if err != nil {
			return err
		}
		for _, statement := range []string{
			`DELETE FROM order_lots`, `DELETE FROM lot_blocks`, `DELETE FROM lot_segments`,
			`INSERT INTO settings (name, value) VALUES ('next_past_lots', '1')`,
		} {
			if _, err := tx.Exec(ctx, "-- only in tests\n"+statement); err != nil {
				return err
			}
		}
		return nil
	}))
}

// testMoveLots: the lots of an earlier version read the same before, while and after they are moved, also when an order
// that was live then is booked meanwhile.
func testMoveLots(t *testing.T, w *World) {
	b := &bookings{World: w, want: make(map[rewards.UserID][]rewards.UserActivity)}
	for i := range 40 {
		w.Advance(time.Second)
		b.buy(t, i%3, 0)
	}
	live := b.open(t, 0)
	w.unmoveLots(t)
	b.wantAll(t, "as an earlier version stored it")
	steps := 0
	for done := false; !done; {
		ctx, cancel := context.WithCancel(t.Context())
		err := w.MoveLots(ctx, func(rewards.OrderID) {
			steps++
			cancel()
		})
		cancel()
		done = err == nil
		b.wantAll(t, fmt.Sprint("step ", steps))
		if steps == 1 {
			w.Advance(time.Second)
			b.book(t, live)
			b.buy(t, 1)
			b.wantAll(t, "with new orders")
		}
	}
	wantEqual(t, "steps", 3, steps)
	w.sealAll(t)
	b.wantAll(t, "moved and sealed")
	w.wantRows(t, "lots of the earlier version", 0, `SELECT count(*) FROM past_lots`)
	w.wantRows(t, "lots", 82, lotRows)
	check(t, w.MoveLots(t.Context(), func(rewards.OrderID) { t.Error("an upgraded store is moved again") }))
}

// behind is an engine in which something happens before a write.
type behind struct {
	store.Engine

	left  int // writes until then
	other func() error
}

// Write implements store.Engine.
func (e *behind) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	if other := e.other; e.left > 0 {
		e.left--
	} else if other != nil {
		e.other = nil
		if err := other(); err != nil {
			return err
		}
	}
	return e.Engine.Write(ctx, f)
}

// testMoveLotsByTwo: while a process moves or seals lots, another one does the same. Each lot is moved and sealed once.
func testMoveLotsByTwo(t *testing.T, w *World) {
	b := &bookings{World: w, want: make(map[rewards.UserID][]rewards.UserActivity)}
	for i := range 80 {
		w.Advance(time.Second)
		b.buy(t, i%3)
	}
	for left, what := range []string{"a step", "the blocks of a segment", "a segment"} {
		w.unmoveLots(t)
		late := &behind{Engine: w.engine, left: left, other: func() error {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := w.MoveLots(ctx, func(rewards.OrderID) { cancel() }) // one step
			if err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			return w.trySealAll(t)
		}}
		second, err := store.New(t.Context(), late, w.Now, rand.NewChaCha8([32]byte{99}))
		check(t, err)
		second.SealEvery(SegmentSize)
		check(t, second.MoveLots(t.Context(), func(rewards.OrderID) {}))
		b.wantAll(t, "two store "+what)
		w.wantRows(t, "lots", 80, lotRows)
		w.wantRows(t, "lots of the earlier version", 0, `SELECT count(*) FROM past_lots`)
	}
}

// testSealAfterALoss: the orders of a segment are lost in a fail-over while it is sealed, and others have their
// numbers. The process stores nothing of the lost ones, and seals the others.
func testSealAfterALoss(t *testing.T, w *World) {
	b := &bookings{World: w, want: make(map[rewards.UserID][]rewards.UserActivity)}
	for range 8 {
		b.buy(t, 0, 1)
	}
	w.unmoveLots(t)
	late, marks := &behind{Engine: w.engine, left: 1}, `UPDATE order_lots SET mark = mark - 1 -- only in tests`
	stored := func() error {
		w.wantRows(t, "blocks of the lost orders", 0, `SELECT count(*) FROM lot_blocks`)
		return nil
	}
	late.other = func() error {
		late.other = stored
		return w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			return failure(tx.Exec(ctx, marks))
		})
	}
	s, err := store.New(t.Context(), late, w.Now, rand.NewChaCha8([32]byte{99}))
	check(t, err)
	s.SealEvery(SegmentSize)
	check(t, s.MoveLots(t.Context(), func(rewards.OrderID) {}))
	w.wantRows(t, "segments", 2, `SELECT count(*) FROM lot_segments`)
	w.wantRows(t, "lots", 16, lotRows)
	b.wantAll(t, "sealed")
}

// lotRows counts the lots.
const lotRows = `SELECT CAST((SELECT coalesce(sum(lots), 0) FROM order_lots) +
	(SELECT coalesce(sum(lots), 0) FROM lot_segments) AS BIGINT)`
