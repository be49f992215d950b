package books

import (
	"context"
	"database/sql"
	"time"

	"stockrewards/internal/broker/paper/exchange"
)

// Refresh carries out corporate actions that are due, and makes the exchange follow the books.
// Call it before each request: another process may have announced one.
func (b *Books) Refresh(ctx context.Context, now time.Time) error {
	var due bool
	var revision int64
	err := b.reader.QueryRowContext(ctx, "SELECT "+actionDue+", market_revision FROM account", stored(now)).
		Scan(&due, &revision)
	if err == nil && due {
		err = b.actionsCatchUp(ctx, now)
	}
	if err == nil && revision != b.loaded.Load() {
		err = b.load(ctx)
	}
	return err
}

// load makes the exchange list what the books list, and halt trading and change prices as
// they say. It does nothing when the exchange has their latest revision.
func (b *Books) load(ctx context.Context) error {
	revision, err := readRevision(ctx, b.reader)
	if err != nil || revision == b.loaded.Load() {
		return err
	}
	return inTx(ctx, b.reader, func(tx *sql.Tx) error { return b.loadIn(ctx, tx) })
}

// loadIn is load in a transaction.
func (b *Books) loadIn(ctx context.Context, tx *sql.Tx) error {
	revision, err := readRevision(ctx, tx)
	if err != nil || revision == b.loaded.Load() {
		return err
	}
	relisted, err := readListings(ctx, tx)
	if err != nil {
		return err
	}
	changes, err := readChanges(ctx, tx)
	if err != nil {
		return err
	}
	closures, err := readClosures(ctx, tx)
	if err != nil {
		return err
	}
	b.loading.Lock()
	defer b.loading.Unlock()
	if revision > b.loaded.Load() { // another request may have loaded a later one meanwhile
		b.Exchange.Update(relisted, changes, closures)
		b.loaded.Store(revision)
	}
	return nil
}

// rowReader is a database or a transaction.
type rowReader interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func readRevision(ctx context.Context, r rowReader) (revision int64, err error) {
	err = r.QueryRowContext(ctx, "SELECT market_revision FROM account").Scan(&revision)
	return revision, err
}

func readListings(ctx context.Context, tx *sql.Tx) ([]exchange.Relisting, error) {
	rows, err := tx.QueryContext(ctx, `SELECT asset_id, symbol, model, name, exchange, price, not_tradable,
		not_fractionable, gone, listed_at FROM listings`)
	return scanAll(rows, err, func(r row) (l exchange.Relisting, err error) {
		err = r.Scan(&l.ID, &l.Symbol, &l.Model, &l.Name, &l.Exchange, &l.Price, &l.NotTradable,
			&l.NotFractionable, &l.Gone, scanTime{&l.Since})
		return l, err
	})
}

// readChanges returns the halts and changes of prices by asset id, in order of time.
func readChanges(ctx context.Context, tx *sql.Tx) (map[string][]exchange.Change, error) {
	type entry struct {
		asset  string
		change exchange.Change
	}
	rows, err := tx.QueryContext(ctx, `SELECT asset_id, symbol, type, dark_from, happens_at, old_rate,
		new_rate, seq FROM actions WHERE state <> 'withdrawn'
		UNION ALL SELECT asset_id, '', '', at, at, old_rate, new_rate, seq FROM price_moves
		ORDER BY happens_at, type, seq`)
	list, err := scanAll(rows, err, func(r row) (e entry, err error) {
		var symbol, kind string
		var seq int64
		err = r.Scan(&e.asset, &symbol, &kind, scanTime{&e.change.HaltFrom}, scanTime{&e.change.At},
			&e.change.OldRate, &e.change.NewRate, &seq)
		if e.asset == "" {
			e.asset = exchange.AssetID(symbol)
		}
		e.change.Moved, e.change.Ends = kind == "", removes(kind)
		return e, err
	})
	changes := make(map[string][]exchange.Change)
	for _, e := range list {
		changes[e.asset] = append(changes[e.asset], e.change)
	}
	return changes, err
}

// list stores a listing that differs from the catalog.
func list(ctx context.Context, tx *sql.Tx, l exchange.Relisting) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO listings (asset_id, symbol, model, name, exchange, price, not_tradable,
		not_fractionable, gone, listed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
		ON CONFLICT (asset_id) DO UPDATE SET symbol = excluded.symbol, not_tradable = excluded.not_tradable,
		gone = excluded.gone`,
		l.ID, l.Symbol, l.Model, l.Name, l.Exchange, l.Price, l.NotTradable, l.NotFractionable, l.Gone, stored(l.Since))
	return err
}

// cancelOpen cancels the open orders of a stock that is no longer traded.
func cancelOpen(ctx context.Context, tx *sql.Tx, symbol string, at time.Time) error {
	rows, err := tx.QueryContext(ctx, selectOrder+"WHERE due_at IS NOT NULL AND symbol = ?1", symbol)
	open, err := scanAll(rows, err, scanOrder)
	for i := 0; i < len(open) && err == nil; i++ {
		err = open[i].end(ctx, tx, StateCanceled, at)
	}
	return err
}
