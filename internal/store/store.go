// Package store keeps everything durable: the SQL, once, for every engine. Each method of
// Store is one atomic step, and the app id comes first in every query for a client. The store
// decides nothing: it reads, asks package rewards, and writes. Interface Engine says what a
// database must provide; package storetest is the contract of the methods.
package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"time"

	"stockrewards/internal/rewards"
)

// Store is the durable state of one installation. It is safe for concurrent use.
type Store struct {
	engine *watched
	ids    *rewards.IDs
	now    func() time.Time
	random io.Reader
	guard  func(nextID time.Time) error // checked before every batch of client requests

	sealedFrom time.Time // rewards and users created since then have a seal; zero: all have one

	rewards  *batchReader[rewardKey, rewards.Reward]
	holdings *batchReader[userKey, []rewards.Holding]

	used sync.Map // rewards.AssetID -> true: assets that are marked as used
}

// New returns the store of an open engine. Runs with the same clock and randomness are the same.
func New(ctx context.Context, engine Engine, now func() time.Time, random io.Reader) (*Store, error) {
	s := &Store{
		engine: &watched{Engine: engine, now: now, pacer: newPacer(engine)},
		ids:    rewards.NewIDs(now, random), now: now, random: random,
		guard: func(time.Time) error { return nil },
	}
	s.rewards = newBatchReader(s.engine, readRewards)
	s.holdings = newBatchReader(s.engine, readHoldings)
	newest, err := s.newestID(ctx)
	if err != nil {
		return nil, err
	}
	if !newest.IsZero() {
		s.ids.StartAfter(newest)
	}
	if err := s.beginLog(ctx, newest); err != nil {
		return nil, err
	}
	s.sealedFrom, err = s.readSealedFrom(ctx)
	return s, err
}

// Guard sets a check that runs before every batch of client requests, with the time of the
// next id. Call it before the first batch.
func (s *Store) Guard(check func(nextID time.Time) error) { s.guard = check }

// Close closes the engine.
func (s *Store) Close() error { return s.engine.Close() }

// Backup writes a consistent copy of the store to a new file while it is in use (see Engine).
func (s *Store) Backup(ctx context.Context, path string) error { return s.engine.Backup(ctx, path) }

// Failed delivers the error after which the process must stop (see Engine).
func (s *Store) Failed() <-chan error { return s.engine.Failed() }

// newestID is the time of the newest order, reward or user.
func (s *Store) newestID(ctx context.Context) (time.Time, error) {
	var newest time.Time
	add := func(row Row) error {
		var id rewards.ID[struct{}]
		if err := row.Scan(toID(&id)); err != nil {
			return err
		}
		if t := id.Time(); t.After(newest) {
			newest = t
		}
		return nil
	}
	err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		for _, query := range []string{
			`SELECT id FROM orders ORDER BY id DESC LIMIT 1`,
			`SELECT id FROM (SELECT (SELECT r.id FROM rewards r WHERE r.app_id = a.id
				ORDER BY r.id DESC LIMIT 1) AS id FROM apps a) AS newest WHERE id IS NOT NULL`,
			`SELECT id FROM (SELECT (SELECT u.id FROM users u WHERE u.app_id = a.id
				ORDER BY u.id DESC LIMIT 1) AS id FROM apps a) AS newest WHERE id IS NOT NULL`,
		} {
			if err := tx.Query(ctx, add, query); err != nil {
				return err
			}
		}
		return nil
	})
	return newest, err
}

// The names of the settings.
const (
	settingInstallation  = "installation_id"
	settingBrokerKind    = "broker_kind"
	settingBrokerAccount = "broker_account"
	settingAccountNumber = "broker_account_number"
	settingCursorKey     = "cursor_key"
	settingPaused        = "paused"
	settingMarketHours   = "market_hours"
	settingReconciled    = "reconciled_until"
	settingBrakes        = "brakes"
	settingProbe         = "write_probe"
	settingLogHead       = "log_head"
	settingSealedFrom    = "sealed_from"
)

// setting returns a stored setting, or "".
func setting(ctx context.Context, tx Tx, name string) (string, error) {
	var value string
	_, err := fetchValues(ctx, tx, []any{&value}, `SELECT value FROM settings WHERE name = ?1`, name)
	return value, err
}

// readSetting is setting in a read transaction.
func (s *Store) readSetting(ctx context.Context, name string) (string, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) (string, error) { return setting(ctx, tx, name) })
}

func setSetting(ctx context.Context, tx Tx, name, value string) error {
	_, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES (?1, ?2)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	return err
}

// Installation identifies a store and the broker account that it is pinned to.
type Installation struct {
	ID            string // random; part of every client order id
	BrokerKind    string // "paper" or "alpaca"; "" until the first start of serve
	BrokerAccount string // the broker's id of the account
	AccountNumber string // as people write it; "" until the account was read
	CursorKey     []byte // authenticates list cursors
}

const randomSettingBytes = 32

// Installation returns the installation. The first call creates its id and cursor key.
func (s *Store) Installation(ctx context.Context) (Installation, error) {
	in, err := s.readInstallation(ctx)
	if err != nil || in.ID != "" {
		return in, err
	}
	err = s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		if id, err := setting(ctx, tx, settingInstallation); err != nil || id != "" {
			return err
		}
		secret := make([]byte, randomSettingBytes)
		if _, err := io.ReadFull(s.random, secret); err != nil {
			return err
		}
		if err := setSetting(ctx, tx, settingCursorKey, hex.EncodeToString(secret)); err != nil {
			return err
		}
		const idBytes = 6
		if _, err := io.ReadFull(s.random, secret[:idBytes]); err != nil {
			return err
		}
		if err := setSetting(ctx, tx, settingInstallation, hex.EncodeToString(secret[:idBytes])); err != nil {
			return err
		}
		// No order at a broker can have this prefix yet: reconciliation starts now.
		return setSetting(ctx, tx, settingReconciled, s.now().UTC().Format(time.RFC3339Nano))
	})
	if err != nil {
		return Installation{}, err
	}
	return s.readInstallation(ctx)
}

func (s *Store) readInstallation(ctx context.Context) (Installation, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) (in Installation, err error) {
		return in, tx.Query(ctx, func(row Row) error {
			var name, value string
			if err := row.Scan(&name, &value); err != nil {
				return err
			}
			return in.set(name, value)
		}, `SELECT name, value FROM settings`)
	})
}

func (in *Installation) set(name, value string) (err error) {
	switch name {
	case settingInstallation:
		in.ID = value
	case settingBrokerKind:
		in.BrokerKind = value
	case settingBrokerAccount:
		in.BrokerAccount = value
	case settingAccountNumber:
		in.AccountNumber = value
	case settingCursorKey:
		in.CursorKey, err = hex.DecodeString(value)
	}
	return err
}

// PinBroker pins the store to a broker account the first time. Later it fails for any other
// broker or account. It also stores the account's number, which the broker may report later
// than its id.
func (s *Store) PinBroker(ctx context.Context, kind string, account rewards.BrokerAccount) error {
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		pinnedKind, err := setting(ctx, tx, settingBrokerKind)
		if err != nil {
			return err
		}
		pinnedAccount, err := setting(ctx, tx, settingBrokerAccount)
		if err != nil {
			return err
		}
		if pinnedKind == "" && pinnedAccount == "" {
			return pin(ctx, tx, kind, account)
		}
		if pinnedKind != kind || pinnedAccount != account.ID {
			return fmt.Errorf(
				"this store belongs to the account %s of the broker %q, not to the account %s of %q: "+
					"start with the broker that holds its stock", pinnedAccount, pinnedKind, account.ID, kind)
		}
		return pinNumber(ctx, tx, account.Number)
	})
}

// PinnedAccount is the broker's id of the account that the store is pinned to, or "" before
// PinBroker.
func (s *Store) PinnedAccount(ctx context.Context) (string, error) {
	return s.readSetting(ctx, settingBrokerAccount)
}

func pin(ctx context.Context, tx Tx, kind string, account rewards.BrokerAccount) error {
	if err := setSetting(ctx, tx, settingBrokerKind, kind); err != nil {
		return err
	}
	if err := setSetting(ctx, tx, settingBrokerAccount, account.ID); err != nil {
		return err
	}
	return pinNumber(ctx, tx, account.Number)
}

// pinNumber stores the account's number if the broker reports one.
func pinNumber(ctx context.Context, tx Tx, number string) error {
	if number == "" {
		return nil
	}
	return setSetting(ctx, tx, settingAccountNumber, number)
}

// AccountMode implements rewards.Store.
func (s *Store) AccountMode(ctx context.Context) (rewards.Mode, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) (mode rewards.Mode, err error) {
		kind, err := setting(ctx, tx, settingBrokerKind)
		if err != nil {
			return mode, err
		}
		number, err := setting(ctx, tx, settingAccountNumber)
		return rewards.ModeOfAccount(kind, number), err
	})
}
