package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"unicode/utf8"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type appCommands struct {
	Create  appCreate  `cmd:"" help:"Create an app and print its API key, alone. The key is shown this once."`
	List    appList    `cmd:"" help:"List the apps."`
	Suspend appSuspend `cmd:"" help:"Refuse an app's requests; its recorded rewards wait."`
	Resume  appResume  `cmd:"" help:"End a suspension."`
}

// prefixFlag chooses the prefix of new keys before the first start of serve.
type prefixFlag struct {
	Broker string `enum:"paper,alpaca" default:"paper" help:"The broker the service will run with, if it has not run yet: keys start with sr_test_ over the paper brokerage, with sr_live_ over a real one."`
}

// newKey makes a key for the books' broker. It returns the secret as well.
func (p prefixFlag) newKey(ctx context.Context, s *store.Store) (rewards.Key, string, error) {
	in, err := s.Installation(ctx)
	if err != nil {
		return rewards.Key{}, "", err
	}
	kind := in.BrokerKind
	if kind == "" {
		kind = p.Broker
	}
	prefix := rewards.LiveKeyPrefix
	if kind == brokerPaper {
		prefix = rewards.TestKeyPrefix
	}
	secret, err := rewards.NewKeySecret(prefix, rand.Reader)
	if err != nil {
		return rewards.Key{}, "", err
	}
	return rewards.Key{Hash: rewards.HashKey(secret), Hint: rewards.KeyHint(prefix, secret)}, secret, nil
}

type appCreate struct {
	databaseFlag
	prefixFlag
	Name string `arg:"" help:"A name for people, unique among the apps."`
}

// Run creates the app; the database too, when there is none.
func (c *appCreate) Run(ctx context.Context) error {
	if n := utf8.RuneCountInString(c.Name); n == 0 || n > rewards.MaxAppName {
		return fmt.Errorf("NAME must have 1 to %d characters", rewards.MaxAppName)
	}
	if !oneLine(c.Name) {
		return errors.New("NAME must not have control characters")
	}
	s, err := c.open(ctx, true)
	if err != nil {
		return err
	}
	key, secret, err := c.newKey(ctx, s)
	if err == nil {
		_, _, err = s.CreateApp(ctx, c.Name, key)
	}
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	fmt.Println(secret)
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
			rows[i] = []string{a.ID.String(), a.Name, state, moment(a.CreatedAt())}
		}
		return table("ID\tNAME\tSTATE\tCREATED", rows)
	})
}

type appSuspend struct {
	databaseFlag
	App string `arg:"" help:"The app's id or name."`
}

// Run suspends the app.
func (c *appSuspend) Run(ctx context.Context) error {
	return c.with(ctx, func(s *store.Store) error { return suspend(ctx, s, c.App, true) })
}

type appResume struct {
	databaseFlag
	App string `arg:"" help:"The app's id or name."`
}

// Run resumes the app.
func (c *appResume) Run(ctx context.Context) error {
	return c.with(ctx, func(s *store.Store) error { return suspend(ctx, s, c.App, false) })
}

func suspend(ctx context.Context, s *store.Store, app string, suspended bool) error {
	a, err := s.SetSuspended(ctx, app, suspended)
	if err != nil {
		return err
	}
	state := "active"
	if suspended {
		state = "suspended"
	}
	fmt.Printf("%s (%s) is %s\n", a.Name, a.ID, state)
	return nil
}
