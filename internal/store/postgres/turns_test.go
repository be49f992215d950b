package postgres_test

import (
	"context"
	"testing"
	"time"

	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/storetest"
)

type write func(context.Context, func(context.Context, store.Tx) error) error

// writesOf are the writes of an engine that are not for clients alone.
func writesOf(e *postgres.Engine) map[string]write {
	return map[string]write{
		"others": e.Write, "books": e.WriteBooks, "orders": e.WriteOrders, "bookings": e.WriteBookings,
	}
}

// Orders are planned and sent while others are booked, by the same process too. All other pairs of these writes exclude
// each other.
func TestOrdersAreWrittenWhileOthersAreBooked(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t, cluster(t))
	e, conn := open(t, url, postgres.Options{}), connect(t, url)
	second := map[string]map[string]write{"the same": writesOf(e), "another": writesOf(open(t, url, postgres.Options{}))}
	insert := func(name string) func(context.Context, store.Tx) error {
		return func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES (?1, 'x') ON CONFLICT DO NOTHING`, name)
			return err
		}
	}
	for _, pair := range [][2]string{{"orders", "bookings"}, {"bookings", "orders"}} {
		for process, writes := range second {
			err := writesOf(e)[pair[0]](ctx, func(within context.Context, tx store.Tx) error {
				check(t, insert("first")(within, tx))
				return writes[pair[1]](ctx, insert("second"))
			})
			if err != nil {
				t.Errorf("%s, and %s in %s process: %v", pair[0], pair[1], process, err)
			}
		}
	}
	for _, pair := range [][2]string{
		{"others", "orders"},
		{"others", "bookings"},
		{"books", "orders"},
		{"books", "bookings"},
		{"orders", "others"},
		{"orders", "books"},
		{"orders", "orders"},
		{"bookings", "others"},
		{"bookings", "books"},
		{"bookings", "bookings"},
	} {
		ended := make(chan error, 1)
		check(t, writesOf(e)[pair[0]](ctx, func(within context.Context, tx store.Tx) error {
			check(t, insert("first")(within, tx))
			go func() { ended <- second["another"][pair[1]](ctx, insert("second")) }()
			awaitWaiting(t, conn, ended)
			return nil
		}))
		check(t, <-ended)
	}
}

func TestOffersBesideBookings(t *testing.T) {
	t.Parallel()
	storetest.TestOffersBesideBookings(t, open(t, database(t, cluster(t)), postgres.Options{}))
}

// A process whose clients can write is ready, also while the leader or a command holds the turn of other writes.
func TestReadyWhileOthersWrite(t *testing.T) {
	t.Parallel()
	url := database(t, cluster(t))
	w := storetest.NewWorld(t, open(t, url, postgres.Options{}))
	_, err := connect(t, url).Exec(t.Context(), `begin; select pg_advisory_xact_lock(7357001)`)
	check(t, err)
	w.Advance(time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	check(t, w.CheckWrites(ctx))
}
