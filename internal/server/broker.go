package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/broker/paper"
	"stockrewards/internal/catalog"
	"stockrewards/internal/dbfile"
	"stockrewards/internal/rewards"
)

// The kinds of brokers, as the store records them.
const (
	BrokerPaper  = rewards.EmbeddedBroker // embedded, with its own books beside an SQLite store
	BrokerAlpaca = "alpaca"               // whatever speaks Alpaca's API
)

// Broker chooses the broker.
type Broker struct {
	Kind string // BrokerPaper or BrokerAlpaca

	// For BrokerAlpaca.
	TradingURL, DataURL string
	KeyID, SecretKey    string
	RequestsPerMinute   int

	// For BrokerPaper.
	Hours   paper.Hours
	Control bool // its clock and faults can be set

	Pinned string // the account that the store is pinned to; "" before the first start
}

// Connection is a client of the broker.
type Connection struct {
	*alpaca.Client
	Paper *paper.Brokerage // the embedded brokerage; nil over BrokerAlpaca
}

// Close closes the embedded brokerage, if there is one.
func (c Connection) Close() error {
	if c.Paper == nil {
		return nil
	}
	return c.Paper.Close()
}

// Connect creates a client of the broker. The books of BrokerPaper are in paper.db in
// the folder of d's file. They are created for a store that is not pinned: new ones have another account.
// Calls are reported to observe, which may be nil.
func (b Broker) Connect(
	ctx context.Context, d Database, log *slog.Logger,
	observe func(operation string, err error, took time.Duration),
) (Connection, error) {
	if b.Kind == BrokerAlpaca {
		return Connection{Client: alpaca.New(alpaca.Options{
			TradingURL: b.TradingURL, DataURL: b.DataURL, KeyID: b.KeyID, SecretKey: b.SecretKey,
			RequestsPerMinute: b.RequestsPerMinute, Observe: observe,
		})}, nil
	}
	o, err := PaperOptions(log)
	if err != nil {
		return Connection{}, err
	}
	o.Hours, o.Control = b.Hours, b.Control
	books := dbfile.Beside(d.SQLite, func(database string) string {
		return filepath.Join(filepath.Dir(database), "paper.db")
	})
	if b.Pinned != "" {
		if err := checkBooks(books, b.Pinned); err != nil {
			return Connection{}, err
		}
	}
	brokerage, err := paper.Open(ctx, books, o)
	if err != nil {
		return Connection{}, fmt.Errorf("cannot open the paper brokerage's books: %w", err)
	}
	const requestsPerMinute = 60_000 // in process: no limit is needed
	client := alpaca.New(alpaca.Options{
		TradingURL: "http://paper.invalid", DataURL: "http://paper.invalid", KeyID: "paper", SecretKey: "paper",
		Transport: brokerage.Transport(), RequestsPerMinute: requestsPerMinute, Observe: observe,
	})
	return Connection{client, brokerage}, nil
}

// checkBooks fails when the books that have an account of the paper brokerage are missing or empty.
func checkBooks(path, account string) error {
	file, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && file.Size() == 0 {
		return fmt.Errorf("paper.db is missing beside the database, whose stock is in the account %s of that paper "+
			"brokerage; put %s back (see docs/backup.md)", account, path)
	}
	return nil // Open says what else is wrong
}

// PaperOptions are the options of every paper brokerage: it trades the embedded catalog.
func PaperOptions(log *slog.Logger) (paper.Options, error) {
	o := paper.Options{Now: time.Now, Random: rand.Reader, Logger: log}
	entries, err := catalog.Entries()
	if err != nil {
		return o, err
	}
	for _, e := range entries {
		o.Catalog = append(o.Catalog, paper.Asset{Symbol: e.Symbol, Name: e.Name, Exchange: e.Exchange, Price: e.Price})
	}
	return o, nil
}

// pinAccount records the broker's account in the store and retries until the broker
// reports it; ordering is disabled until then. It fails when the store belongs to
// another account.
func (s *Server) pinAccount(ctx context.Context) error {
	const retry = 5 * time.Second
	for ctx.Err() == nil {
		account, err := s.Broker.Account(ctx)
		if err == nil {
			err = s.Store.PinBroker(ctx, s.cfg.Broker.Kind, account)
			if rewards.CodeOf(err) != rewards.CodeUnavailable || err == nil {
				return err
			}
		}
		s.log.WarnContext(ctx, "cannot read the broker's account; ordering is disabled", slog.Any("error", err))
		if ctx.Err() == nil { // the process that leads clears the alarm
			text := "a process that starts orders nothing: " + err.Error()
			err = s.Store.RaiseAlarm(ctx, rewards.AlarmAccountUnknown, text)
		}
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "cannot store an alarm", slog.Any("error", err))
		}
		sleep(ctx, retry)
	}
	return nil
}
