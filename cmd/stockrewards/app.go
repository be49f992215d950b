package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type appCommands struct {
	Create  appCreate  `cmd:"" help:"Create an app and print only its API key, which is never shown again. Creates the database if necessary."`
	List    appList    `cmd:"" help:"List the apps with their states and limits."`
	Suspend appSuspend `cmd:"" help:"Suspend an app: its requests get 403, and its recorded rewards wait."`
	Resume  appResume  `cmd:"" help:"Resume a suspended app."`

	Dividends appDividends `cmd:"" help:"Set what becomes of the cash dividends of an app's users."`
	Limits    appLimits    `cmd:"" help:"Show or change an app's limits on requests; effective within a second."`
}

// modeFlag chooses the mode of new keys until the broker's account is known.
type modeFlag struct {
	Mode   string `enum:"test,live," default:"" placeholder:"test|live" help:"Choose the key's mode before the first start of serve: test (sr_test_, for a paper account) or live (sr_live_, for any other). Afterwards the broker's account decides (default: test)."`
	Broker string `hidden:"" help:"Ignored; accepted for old scripts. See --mode."`
}

// newKey returns a key in the broker account's mode, and its secret.
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

// choose returns the mode of a new key. A store that an earlier version pinned to a real
// broker may not know the account's number yet: live keys work over every account.
func (m modeFlag) choose(ctx context.Context, s *store.Store) (rewards.Mode, error) {
	in, err := s.Installation(ctx)
	if err != nil {
		return rewards.ModeUnknown, err
	}
	asked, account := rewards.Mode(m.Mode), rewards.ModeOfAccount(in.BrokerKind, in.AccountNumber)
	switch {
	case account != rewards.ModeUnknown && asked != rewards.ModeUnknown && asked != account:
		return asked, fmt.Errorf("--mode %s: the database belongs to an account with %s keys; omit --mode",
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
	Name        string `arg:"" help:"A display name, unique among the apps."`
	DailyBudget string `env:"-" placeholder:"USD" help:"Limit what the app can award per UTC day to this many dollars, by a budget named daily (default: no limit)."`
}

// Run creates the app, and the database if it does not exist.
func (c *appCreate) Run(ctx context.Context) error {
	if n := utf8.RuneCountInString(c.Name); n == 0 || n > rewards.MaxAppName {
		return usageErrorf("NAME: must have 1 to %d characters", rewards.MaxAppName)
	}
	if err := rewards.CheckName(c.Name); err != nil {
		return usageErrorf("NAME %w", err)
	}
	daily, err := c.dailyBudget()
	if err != nil {
		return err
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
		_, _, err = s.As(by).CreateApp(ctx, c.Name, key, daily...)
	}
	if err := said(errors.Join(err, s.Close()), "%s\n", secret); err != nil {
		return err
	}
	if len(daily) == 0 && strings.HasPrefix(secret, rewards.LiveKeyPrefix) {
		fsayf(os.Stderr, "%s has no budget: whoever has the key can award without a limit; "+
			"see `stockrewards budget set`\n", c.Name)
	}
	return nil
}

// dailyBudget returns the app's first budget, if it gets one.
func (c *appCreate) dailyBudget() ([]rewards.Budget, error) {
	if c.DailyBudget == "" {
		return nil, nil
	}
	limit, err := budgetLimit("--daily-budget", c.DailyBudget)
	return []rewards.Budget{{
		Name: "daily", Per: rewards.PerApp, Period: rewards.PeriodDay, Limit: limit,
	}}, err
}

type appList struct {
	databaseFlag
	outputFlag
}

func (c *appList) Run(ctx context.Context) error {
	return c.with(ctx, func(s *store.Store) error {
		apps, err := s.Apps(ctx)
		if err != nil {
			return err
		}
		const heading = "ID\tNAME\tSTATE\tCREATED\tPER SECOND\tAT ONCE\tDIVIDENDS"
		return listed(c.outputFlag, heading, apps, func(a rewards.App) []string {
			return []string{
				a.ID.String(), a.Name, stateOf(a), moment(a.CreatedAt()), rateOf(a.Limits),
				strconv.Itoa(a.Limits.AtOnce()), a.Dividends.String(),
			}
		})
	})
}

type appChange struct {
	databaseFlag
	reasonFlag
	App string `arg:"" help:"The app's id or name."`
}

type (
	appSuspend struct{ appChange }
	appResume  struct{ appChange }
)

func (c *appSuspend) Run(ctx context.Context) error { return c.set(ctx, "app suspend", true) }

func (c *appResume) Run(ctx context.Context) error { return c.set(ctx, "app resume", false) }

func (c *appChange) set(ctx context.Context, command string, suspended bool) error {
	return c.operate(ctx, command, c.reasonFlag, func(s *store.Operator) error {
		a, err := s.SetSuspended(ctx, c.App, suspended)
		return said(err, "%s (%s) is %s\n", a.Name, a.ID, stateOf(a))
	})
}

func stateOf(a rewards.App) string {
	if a.Suspended {
		return "suspended"
	}
	return "active"
}
