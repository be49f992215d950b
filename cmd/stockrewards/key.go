package main

import (
	"context"
	"os"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type keyCommands struct {
	Create keyCreate `cmd:"" help:"Create another key for an app and print only the key, which is never shown again."`
	List   keyList   `cmd:"" help:"List an app's keys. The keys themselves are not stored."`
	Rotate keyRotate `cmd:"" help:"Replace a key: print only the new key, which has the same label; the old one expires after --overlap."`
	Revoke keyRevoke `cmd:"" help:"Revoke a key; effective in every process within a second."`
}

// expiresFlag is the flag of commands that make a key.
type expiresFlag struct {
	Expires *time.Duration `placeholder:"DURATION" help:"Expire the new key after this time, such as 90d (default: never)."`
}

func (f expiresFlag) check() error {
	if f.Expires != nil && *f.Expires <= 0 {
		return usageErrorf("--expires must be positive")
	}
	return nil
}

// expiry is when the new key expires; zero: never.
func (f expiresFlag) expiry() (at time.Time) {
	if f.Expires != nil {
		at = time.Now().Add(*f.Expires)
	}
	return at
}

type keyCreate struct {
	databaseFlag
	modeFlag
	reasonFlag
	App   string `arg:"" help:"The app's id or name."`
	Label string `help:"Label the key to distinguish it from others (default: no label)."`
	expiresFlag
}

func (c *keyCreate) Run(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := rewards.CheckText(c.Label); err != nil {
		return usageErrorf("--label: %w", err)
	}
	return c.operate(ctx, "key create", c.reasonFlag, func(s *store.Operator) error {
		key, secret, err := c.newKey(ctx, s.Store)
		if err != nil {
			return err
		}
		key.Label = c.Label
		key.ExpiresAt = c.expiry()
		_, err = s.CreateKey(ctx, c.App, key)
		return said(err, "%s\n", secret)
	})
}

type keyList struct {
	databaseFlag
	outputFlag
	App string `arg:"" help:"The app's id or name."`
}

func (c *keyList) Run(ctx context.Context) error {
	return c.with(ctx, func(s *store.Store) error {
		keys, err := s.Keys(ctx, c.App)
		if err != nil {
			return err
		}
		const heading = "ID\tKEY\tSTATE\tCREATED\tEXPIRES\tLABEL"
		return listed(c.outputFlag, heading, keys, func(k rewards.Key) []string {
			state := "valid"
			switch {
			case !k.RevokedAt.IsZero():
				state = "revoked"
			case !k.ValidAt(time.Now()):
				state = "expired"
			}
			return []string{k.ID.String(), k.Hint, state, moment(k.CreatedAt()), moment(k.ExpiresAt), k.Label}
		})
	})
}

type keyRotate struct {
	databaseFlag
	modeFlag
	reasonFlag
	ID      string        `arg:"" help:"The id of the old key, from key list."`
	Overlap time.Duration `default:"24h" help:"Keep the old key valid for this long (default: 24h)."`
	expiresFlag
}

func (c *keyRotate) Run(ctx context.Context) error {
	id, err := rewards.ParseID[rewards.Key](c.ID)
	if err != nil {
		return usageErrorf("ID: %w", err)
	}
	if c.Overlap < 0 {
		return usageErrorf("--overlap must not be negative")
	}
	if err := c.check(); err != nil {
		return err
	}
	return c.operate(ctx, "key rotate", c.reasonFlag, func(s *store.Operator) error {
		key, secret, err := c.newKey(ctx, s.Store)
		if err != nil {
			return err
		}
		key.ExpiresAt = c.expiry()
		_, err = s.RotateKey(ctx, id, key, time.Now().Add(c.Overlap))
		return said(err, "%s\n", secret)
	})
}

type keyRevoke struct {
	databaseFlag
	reasonFlag
	ID string `arg:"" help:"The key's id, from key list."`
}

func (c *keyRevoke) Run(ctx context.Context) error {
	id, err := rewards.ParseID[rewards.Key](c.ID)
	if err != nil {
		return usageErrorf("ID: %w", err)
	}
	return c.operate(ctx, "key revoke", c.reasonFlag, func(s *store.Operator) error {
		if err := said(s.RevokeKey(ctx, id), "%s is revoked\n", id); err != nil {
			return err
		}
		endpoints, err := s.EndpointsOfKey(ctx, id)
		if len(endpoints) > 0 {
			fsayf(os.Stderr, "the app has webhook endpoints, which outlive the key; if it leaked, see "+
				"`stockrewards webhook list`: whoever had the key could add some and replace their secrets\n")
		}
		return err
	})
}
