package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"stockrewards/internal/rewards"
)

// Installation identifies a store and the broker account that it is pinned to.
type Installation struct {
	ID            string // random; part of every client order id
	BrokerKind    string // "paper" or "alpaca"; "" until the first start of serve
	BrokerAccount string // the broker's id of the account
	AccountNumber string // as people write it; "" until the account was read
	CursorKey     []byte // authenticates list cursors
}

const randomSettingBytes = 32

// Installation returns the installation. The first call creates its id and cursor key. It fails when they are gone.
func (s *Store) Installation(ctx context.Context) (Installation, error) {
	in, err := s.readInstallation(ctx)
	if err != nil || in.ID != "" {
		return in, err
	}
	err = s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		if id, err := setting(ctx, tx, settingInstallation); err != nil || id != "" {
			return err
		}
		var order rewards.OrderID
		ordered, err := fetchValues(ctx, tx, []any{toID(&order)}, `SELECT id FROM orders ORDER BY id DESC LIMIT 1`)
		if err != nil {
			return err
		}
		if ordered {
			return errNoInstallation
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

// errNoInstallation means that nothing says which orders at the broker are those of the store.
var errNoInstallation = errors.New("store: the store has orders, but its installation id is gone: restore a backup")

func (s *Store) readInstallation(ctx context.Context) (Installation, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) (in Installation, err error) {
		err = tx.Query(ctx, func(row Row) error {
			var name, value string
			if err := row.Scan(&name, &value); err != nil {
				return err
			}
			return in.set(name, value)
		}, `SELECT name, value FROM settings`)
		return in, err
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
	return readShared(ctx, s, func(ctx context.Context, tx Tx) (mode rewards.Mode, err error) {
		kind, err := setting(ctx, tx, settingBrokerKind)
		if err != nil {
			return mode, err
		}
		number, err := setting(ctx, tx, settingAccountNumber)
		return rewards.ModeOfAccount(kind, number), err
	})
}
