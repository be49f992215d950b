package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type appCommands struct {
	Create  appCreate  `cmd:"" help:"Create an app and print its API key, alone. The key is shown this once."`
	List    appList    `cmd:"" help:"List the apps."`
	Suspend appSuspend `cmd:"" help:"Refuse an app's requests (403). Its recorded rewards wait."`
	Resume  appResume  `cmd:"" help:"End an app's suspension."`
	Limits  appLimits  `cmd:"" help:"Show or change how much an app may ask for; in force within a second."`
}

// modeFlag chooses the prefix of new keys until the books have met the brokerage's
// account.
type modeFlag struct {
	Mode   string `enum:"test,live," default:"" placeholder:"test|live" help:"Choose the key's kind before serve has met the brokerage's account: test (sr_test_, for a paper account) or live (sr_live_, for any other). Afterwards the account decides (default: test)."`
	Broker string `hidden:"" help:"Accepted for scripts of earlier versions, and without effect: see --mode."`
}

// newKey makes a key for the account of the books' brokerage. It returns the secret as
// well.
func (m modeFlag) newKey(ctx context.Context, s *store.Store) (rewards.Key, string, error) {
	mode, err := m.choose(ctx, s)
	if err != nil {
		return rewards.Key{}, "", err
	}
	prefix := mode.KeyPrefix()
	secret, err := rewards.NewKeySecret(prefix, rand.Reader)
	if err != nil {
		return rewards.Key{}, "", err
	}
	return rewards.Key{Hash: rewards.HashKey(secret), Hint: rewards.KeyHint(prefix, secret)}, secret, nil
}

// choose is the mode of a new key. Books that an earlier version bound to a real broker
// do not know their account's number yet: a live key works over every account.
func (m modeFlag) choose(ctx context.Context, s *store.Store) (rewards.Mode, error) {
	in, err := s.Installation(ctx)
	if err != nil {
		return rewards.ModeUnknown, err
	}
	asked, account := rewards.Mode(m.Mode), rewards.ModeOfAccount(in.BrokerKind, in.AccountNumber)
	switch {
	case account != rewards.ModeUnknown && asked != rewards.ModeUnknown && asked != account:
		return asked, fmt.Errorf("--mode %s: the books belong to an account whose keys are %s keys; leave --mode out",
			asked, account)
	case account != rewards.ModeUnknown:
		return account, nil
	case asked != rewards.ModeUnknown:
		return asked, nil
	case in.BrokerKind != "":
		return rewards.ModeLive, nil
	default:
		return rewards.ModeTest, nil
	}
}

type appCreate struct {
	databaseFlag
	modeFlag
	reasonFlag
	Name string `arg:"" help:"A name for people, unique among the apps."`
}

// Run creates the app; the database too, when there is none.
func (c *appCreate) Run(ctx context.Context) error {
	if n := utf8.RuneCountInString(c.Name); n == 0 || n > rewards.MaxAppName {
		return usageErrorf("NAME must have 1 to %d characters", rewards.MaxAppName)
	}
	if err := rewards.CheckText(c.Name); err != nil {
		return usageErrorf("NAME: %w", err)
	}
	by, err := c.operator("app create")
	if err != nil {
		return err
	}
	s, err := c.open(ctx, true)
	if err != nil {
		return err
	}
	key, secret, err := c.newKey(ctx, s)
	if err == nil {
		_, _, err = s.As(by).CreateApp(ctx, c.Name, key)
	}
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	sayln(secret)
	return nil
}

type appList struct{ databaseFlag }

// Run lists the apps.
func (c *appList) Run(ctx context.Context) error {
	return c.with(ctx, func(s *store.Store) error {
		apps, err := s.Apps(ctx)
		if err != nil {
			return err
		}
		rows := make([][]string, len(apps))
		for i, a := range apps {
			state := "active"
			if a.Suspended {
				state = "suspended"
			}
			rows[i] = []string{
				a.ID.String(), a.Name, state, moment(a.CreatedAt()), rateOf(a.Limits), strconv.Itoa(a.Limits.AtOnce()),
			}
		}
		return table("ID\tNAME\tSTATE\tCREATED\tPER SECOND\tAT ONCE", rows)
	})
}

type appSuspend struct {
	databaseFlag
	reasonFlag
	App string `arg:"" help:"The app's id or name."`
}

// Run suspends the app.
func (c *appSuspend) Run(ctx context.Context) error {
	return c.operate(ctx, "app suspend", c.reasonFlag, func(s *store.Operator) error {
		return suspend(ctx, s, c.App, true)
	})
}

type appResume struct {
	databaseFlag
	reasonFlag
	App string `arg:"" help:"The app's id or name."`
}

// Run resumes the app.
func (c *appResume) Run(ctx context.Context) error {
	return c.operate(ctx, "app resume", c.reasonFlag, func(s *store.Operator) error {
		return suspend(ctx, s, c.App, false)
	})
}

func suspend(ctx context.Context, s *store.Operator, app string, suspended bool) error {
	a, err := s.SetSuspended(ctx, app, suspended)
	if err != nil {
		return err
	}
	state := "active"
	if suspended {
		state = "suspended"
	}
	sayf("%s (%s) is %s\n", a.Name, a.ID, state)
	return nil
}
