// Package paper is a paper brokerage: it speaks Alpaca's Trading API and market
// data API as an http.Handler, keeps its own books in its own SQLite file, and
// fills market orders at the prices of its own model.
//
// It promises that an order which was answered with 200 survives a crash, that
// cash and positions always balance, that a client order id is accepted once for
// ever, and that nothing happens in the background: each request first carries
// out what has fallen due since the last one, so that a test can move the time.
// Two processes may have the same books open.
//
// It can be told to misbehave, by faults (fault.go) and by a test clock (clock.go);
// its books stay true whatever it tells.
//
// Read handler.go for the one path of every request, settle.go for the life of an
// order, price.go for the model of prices, hours.go for the market's hours, and
// docs/paper-brokerage.md for its manual.
package paper

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"stockrewards/internal/money"
)

// The defaults of the options.
const (
	defaultSeed uint64    = 0x5eed_0f_57_0c_c5
	defaultCash money.USD = 1_000_000_000_000 * money.Dollar
)

// maxReferencePrice bounds a catalog's price, in dollars a share: the model may
// raise a price by less than half, and the result must fit.
const maxReferencePrice money.Price = 1_000_000_000 * 1_000_000_000

// Asset is a stock that the brokerage trades.
type Asset struct {
	Symbol   string      // upper case, "BRK.B"
	Name     string      // "Apple Inc. Common Stock"
	Exchange string      // as Alpaca names it: "NASDAQ"
	Price    money.Price // the reference that the model's prices move around, positive

	NotTradable     bool // orders for it are refused
	NotFractionable bool // orders for it must be for whole shares
}

// Options say what to trade and when. The zero value is an exchange that never
// closes and has nothing to trade.
type Options struct {
	Catalog []Asset
	Hours   Hours

	// Seed and Cash are used when the books are created and kept in them. Seed 0 is
	// a fixed default; Cash 0 is a trillion dollars.
	Seed uint64
	Cash money.USD

	// KeyID and SecretKey are the credentials that a request must carry; when KeyID
	// is empty any are good, and none as well.
	KeyID     string
	SecretKey string

	// RequestsPerMinute is the rate limit; 0 means none.
	RequestsPerMinute int

	// Control adds the endpoints under /control, by which a test sets the clock and
	// scripts faults. FaultSeed is where the chances of faults start from.
	Control   bool
	FaultSeed uint64

	Now    func() time.Time // nil means time.Now
	Random io.Reader        // the source of ids; nil means crypto/rand
	Logger *slog.Logger     // told of internal errors; nil means nobody is
}

// Brokerage is an open paper brokerage. Its methods may be called concurrently.
type Brokerage struct {
	books  *books
	market *market
	clock  *clock
	faults *faults
	gate   *gate
	ids    *idSource
	logger *slog.Logger
	routes http.Handler

	// What goes on after its request has gone: see late.
	background sync.WaitGroup
	closing    context.Context //nolint:containedctx // ends with the brokerage, not with a call
	close      context.CancelFunc
}

// Open opens the books in the file, creating them when there are none. The path
// ":memory:" keeps them in memory until Close. It fails when a price of the
// catalog is not positive, when the file is no book of this brokerage or was
// written by a newer version, and when the SQLite library is too old.
func Open(ctx context.Context, path string, o Options) (*Brokerage, error) {
	o = withDefaults(o)
	if o.Cash < 0 {
		return nil, errors.New("paper: the cash is negative")
	}
	clock := &clock{real: o.Now}
	ids := &idSource{random: o.Random}
	first, err := firstPage(o, ids, clock.micros())
	if err != nil {
		return nil, fmt.Errorf("paper: %w", err)
	}
	books, err := openBooks(ctx, path, first)
	if err != nil {
		return nil, fmt.Errorf("paper: open the books %q: %w", path, err)
	}
	market, err := newMarket(o.Catalog, o.Hours, books.seed)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("paper: %w", err), books.close())
	}
	if clock.test, err = books.readClock(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("paper: read the clock: %w", err), books.close())
	}
	b := &Brokerage{
		books: books, market: market, clock: clock, ids: ids, logger: o.Logger,
		gate:   newGate(o.KeyID, o.SecretKey, o.RequestsPerMinute),
		faults: &faults{seed: o.FaultSeed},
	}
	b.routes = b.routeTable(o.Control)
	b.closing, b.close = context.WithCancel(context.WithoutCancel(ctx))
	return b, nil
}

func withDefaults(o Options) Options {
	if o.Seed == 0 {
		o.Seed = defaultSeed
	}
	if o.Cash == 0 {
		o.Cash = defaultCash
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Close closes the books. Requests that are under way fail.
func (b *Brokerage) Close() error {
	b.close()
	b.background.Wait()
	if err := b.books.close(); err != nil {
		return fmt.Errorf("paper: close the books: %w", err)
	}
	return nil
}

// Price is the model's price of the symbol at an instant, whatever the market's
// hours, and false when the catalog has no such symbol.
func (b *Brokerage) Price(symbol string, at time.Time) (money.Price, bool) {
	l, ok := b.market.bySymbol[symbol]
	if !ok {
		return 0, false
	}
	return b.market.price(l, at), true
}
