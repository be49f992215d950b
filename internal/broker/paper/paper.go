// Package paper is a paper brokerage: it speaks Alpaca's Trading API and market data API
// as an http.Handler, keeps its own books in its own SQLite file, and fills market orders
// at the prices of a model. docs/paper-brokerage.md is its manual.
//
// It misbehaves on request, by faults, and its clock can be set. Its books stay true
// whatever it answers.
//
// This package puts the parts together: exchange has the listings, the market's hours and
// the prices; books the account, the orders and the positions; faults the scripts of
// misbehaviour; wire the endpoints.
package paper

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"stockrewards/internal/broker/paper/apierror"
	"stockrewards/internal/broker/paper/books"
	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/broker/paper/faults"
	"stockrewards/internal/broker/paper/random"
	"stockrewards/internal/broker/paper/wire"
	"stockrewards/internal/money"
)

const (
	defaultSeed uint64    = 0x5eed_0f_57_0c_c5
	defaultCash money.USD = 1_000_000_000_000 * money.Dollar
)

// Asset is a stock of the catalog.
type Asset = exchange.Asset

// Hours are the market's trading hours.
type Hours = exchange.Hours

// The hours of the market.
const (
	AlwaysOpen = exchange.AlwaysOpen // never closes
	USEquities = exchange.USEquities // follows the New York Stock Exchange
)

// Fault is one way to misbehave.
type Fault = faults.Fault

// Rule is an active fault.
type Rule = faults.Rule

// TestClock is a clock that was set.
type TestClock = books.TestClock

// ParseFault reads a fault from a line such as "lost-answer on=submit times=1".
func ParseFault(line string) (Fault, error) { return faults.Parse(line) }

// Options say what to trade and when. The zero value is a market that never closes and
// trades nothing.
type Options struct {
	Catalog []Asset
	Hours   Hours

	// Seed and Cash are stored when the books are created, and ignored later. Seed 0 is a
	// fixed default; Cash 0 is a trillion dollars.
	Seed uint64
	Cash money.USD

	// KeyID and SecretKey are the credentials that a request must carry. When KeyID is
	// empty, any request is accepted.
	KeyID     string
	SecretKey string

	// RequestsPerMinute is the rate limit; 0 means no limit.
	RequestsPerMinute int

	// Control serves the endpoints under /control/, which set the clock and script faults.
	Control bool

	// FaultSeed is the seed of the faults' chances.
	FaultSeed uint64

	Now    func() time.Time // nil: time.Now
	Random io.Reader        // the source of ids; nil: crypto/rand
	Logger *slog.Logger     // for internal errors; nil: not logged
}

// Brokerage is an open paper brokerage. It is safe for concurrent use.
type Brokerage struct {
	books  *books.Books
	faults *faults.Set
	server *wire.Server
}

// Open opens the books in a file and creates them in a new one. The path ":memory:"
// keeps them in memory until Close. It fails when an option is out of range, when the file
// is another program's or was written by a newer version, and when the SQLite library is
// too old.
func Open(ctx context.Context, path string, o Options) (*Brokerage, error) {
	o = withDefaults(o)
	if o.Cash < 0 {
		return nil, fmt.Errorf("paper brokerage: cash %s: must not be negative", o.Cash)
	}
	ids, set := random.NewIDs(o.Random), faults.NewSet(o.FaultSeed)
	b, err := books.Open(ctx, path, books.Options{
		Catalog: o.Catalog, Hours: o.Hours, Seed: o.Seed, Cash: o.Cash, Now: o.Now, IDs: ids, Faults: set,
	})
	if err != nil {
		return nil, fmt.Errorf("paper brokerage: %w", err)
	}
	server := wire.New(ctx, wire.Options{
		Books: b, Faults: set, IDs: ids, Logger: o.Logger,
		KeyID: o.KeyID, SecretKey: o.SecretKey, RequestsPerMinute: o.RequestsPerMinute, Control: o.Control,
	})
	return &Brokerage{b, set, server}, nil
}

func withDefaults(o Options) Options {
	o.Seed, o.Cash = cmp.Or(o.Seed, defaultSeed), cmp.Or(o.Cash, defaultCash)
	o.Random, o.Logger = cmp.Or(o.Random, rand.Reader), cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Close closes the books. Requests that are under way fail.
func (b *Brokerage) Close() error {
	b.server.Close()
	if err := b.books.Close(); err != nil {
		return fmt.Errorf("paper brokerage: cannot close the books: %w", err)
	}
	return nil
}

// Handler serves Alpaca's Trading API and market data API, both at the same address.
func (b *Brokerage) Handler() http.Handler { return b.server.Handler() }

// Transport serves the same within the process: it runs the handler in the caller's
// goroutine, whatever the address of the request. When the request's context ends, the
// answer is lost as over a broken connection, but the request may have been carried out.
func (b *Brokerage) Transport() http.RoundTripper { return b.server.Transport() }

// Price returns the model's price of a symbol at a time, whatever the market's hours, and
// false when the catalog does not have the symbol.
func (b *Brokerage) Price(symbol string, at time.Time) (money.Price, bool) {
	l := b.books.Exchange.BySymbol(symbol)
	if l == nil {
		return 0, false
	}
	return b.books.Exchange.Price(l, at), true
}

// Now returns the brokerage's time in UTC, and the test clock when one is set.
func (b *Brokerage) Now() (time.Time, *TestClock) { return b.books.Clock.Now(), b.books.Clock.Test() }

// SetClock sets the brokerage's clock to a time, with a pace in seconds per real second; at
// pace 0 it stops. The setting survives a restart. The clock may be set back; what has
// happened stays. It fails when the pace is not from 0 to a million or the year is not from
// 1971 to 2200.
func (b *Brokerage) SetClock(ctx context.Context, at time.Time, pace int64) error {
	return b.books.SetClock(ctx, at, pace)
}

// UseRealTime ends the test clock, if one is set.
func (b *Brokerage) UseRealTime(ctx context.Context) error { return b.books.UseRealTime(ctx) }

// AddFault makes the brokerage misbehave from now on. Where several faults could strike,
// the one that was added first does. It fails when the kind is unknown and when there are
// a thousand faults.
func (b *Brokerage) AddFault(f Fault) (Rule, error) {
	rules, err := b.faults.Add(b.books.Clock.Now(), f)
	if err != nil {
		return Rule{}, err
	}
	return rules[0], nil
}

// Faults returns the active faults, with how often each struck.
func (b *Brokerage) Faults() []Rule { return b.faults.Rules() }

// RemoveFault removes the fault with that id, or all when the id is 0, and returns how many
// it removed. An order that was struck keeps its fault.
func (b *Brokerage) RemoveFault(id int) int { return b.faults.Remove(id) }

// Bust corrects how many shares an ended buy bought, as an exchange does when it busts or
// corrects a trade. The order, the position and the cash change, at the order's average
// price. It fails when the order is missing or is not an ended buy with a fill, when the
// quantity is not above zero, and when the account lacks the shares or the cash.
func (b *Brokerage) Bust(ctx context.Context, clientOrderID string, filled money.Shares) error {
	return b.books.Bust(ctx, clientOrderID, filled, b.books.Clock.Now())
}

// Order is an order as the books have it, whatever the answers about it say.
type Order struct {
	ClientOrderID string
	Symbol        string
	Status        string // Alpaca's word
	FilledQty     money.Shares
	FilledPrice   money.Price // the average; 0 while nothing is filled
	FilledValue   money.USD   // the dollars that moved
	Fault         string      // the one that struck it; empty for none
}

// Order returns the order with a client order id, even one that a fault hides, and reports
// whether it exists.
func (b *Brokerage) Order(ctx context.Context, clientOrderID string) (Order, bool, error) {
	now := b.books.Clock.Now()
	o, err := b.books.ActualOrder(ctx, clientOrderID, now)
	if e, ok := errors.AsType[*apierror.Error](err); ok && e.Status == http.StatusNotFound {
		return Order{}, false, nil
	}
	if err != nil {
		return Order{}, false, err
	}
	return Order{
		ClientOrderID: o.ClientOrderID, Symbol: o.Symbol, Status: o.Status(now),
		FilledQty: o.FilledQty, FilledPrice: o.FilledPrice, FilledValue: o.FilledValue, Fault: o.Fate.String(),
	}, true, nil
}
