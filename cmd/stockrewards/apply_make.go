package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"

	"stockrewards/internal/config"
	"stockrewards/internal/rewards"
	"stockrewards/internal/server"
	"stockrewards/internal/store"
	"stockrewards/internal/webhook"
)

// webhookKeyFlags are the settings of serve that endpoints depend on.
type webhookKeyFlags struct {
	WebhookKeyFile string   `placeholder:"FILE" help:"Seal the secrets of webhooks with the keys in this file of serve (default: a file beside an SQLite database; over PostgreSQL a file with new endpoints needs it)."`
	WebhookAllow   []string `placeholder:"CIDR" help:"Allow webhook endpoints in this private or special range, as for serve (default: none)."`
}

// addresses are the addresses that endpoints may have.
func (w webhookKeyFlags) addresses() (rewards.WebhookAddresses, error) {
	settings, err := webhookFlags{WebhookAllow: w.WebhookAllow}.webhooks()
	return rewards.WebhookAddresses{Allow: settings.Allow}, err
}

// maker makes changes.
type maker struct {
	store   *store.Store
	by      rewards.Operator
	keyring *webhook.Keyring // nil unless an endpoint is new
	files   secretFiles
	pass    func(config.Change, secret) // gets each change that was made
}

// changeAll makes the changes one by one.
func (m *maker) changeAll(ctx context.Context, changes []config.Change) error {
	for _, change := range changes {
		made, err := m.change(ctx, change)
		if err != nil {
			return fmt.Errorf("cannot change %s: %w", change.Object(), err)
		}
		m.pass(change, made)
		if err := stdout.failure(); err != nil { // the next key would be lost too
			return err
		}
	}
	return nil
}

// openKeyring opens the keys that serve seals secrets with. It fails when they open no secret that is
// stored: the new endpoints would get nothing.
func (m *maker) openKeyring(ctx context.Context, d databaseFlag, path string) error {
	database, err := d.database()
	if err != nil {
		return err
	}
	if path != "" { // a new file would be another one than that of serve
		_, err = os.Stat(path)
	}
	path = server.WebhookKeyFile(path, database)
	if path == "" || err != nil {
		return usageErrorf("--webhook-key-file: webhook endpoints need the file that serve has: %w",
			cmp.Or(err, errors.New("over PostgreSQL it must be given")))
	}
	if m.keyring, err = webhook.OpenKeyring(path, database.SQLite, rand.Reader); err != nil {
		return err
	}
	stored, err := m.store.AllWebhookEndpoints(ctx)
	opens := func(e rewards.WebhookEndpoint) bool {
		_, err := m.keyring.Open(e.AppID, e.Secret)
		return err == nil
	}
	if err == nil && len(stored) > 0 && !slices.ContainsFunc(stored, opens) {
		return usageErrorf("--webhook-key-file: must be the file of serve: its keys open no secret that is stored")
	}
	return err
}

// change makes one change by the method of the single command, and returns the secret of what is new.
func (m *maker) change(ctx context.Context, c config.Change) (made secret, err error) {
	switch c.Kind {
	case config.KindApp:
		return m.app(ctx, c)
	case config.KindLimits:
		_, err = m.as("app limits").SetLimits(ctx, c.App, c.Limits.Over)
	case config.KindDividends:
		err = m.as("app dividends").SetDividends(ctx, c.App, c.Dividends)
	case config.KindBudget:
		if c.Sign == config.Remove {
			_, err = m.as("budget remove").RemoveBudget(ctx, c.App, c.Name)
		} else {
			_, err = m.as("budget set").SetBudget(ctx, c.App, c.Budgets[0])
		}
	case config.KindWebhook:
		switch {
		case c.Sign == config.Add:
			return m.endpoint(ctx, c)
		case c.Disable != "":
			_, err = m.as("webhook disable").DisableWebhook(ctx, c.Endpoint.ID, c.Disable)
		case c.Enable:
			_, err = m.as("webhook enable").EnableWebhook(ctx, c.Endpoint.ID)
		default:
			err = m.as("webhook edit").EditWebhook(ctx, c.Endpoint.ID, c.Edit)
		}
	}
	return made, err
}

// as is the operator with the single command in the log: "apply: budget set".
func (m *maker) as(command string) *store.Operator {
	by := m.by
	by.Command += ": " + command
	return m.store.As(by)
}

// app creates an app with its key and its budgets.
func (m *maker) app(ctx context.Context, c config.Change) (secret, error) {
	key, text, err := modeFlag{Mode: string(c.Mode)}.newKey(ctx, m.store)
	if err != nil {
		return secret{}, err
	}
	return m.files.keep("key", keyFile(c.App), text, func() error {
		_, _, err := m.as("app create").CreateApp(ctx, c.App, key, c.Budgets...)
		return err
	})
}

// endpoint creates a webhook endpoint.
func (m *maker) endpoint(ctx context.Context, c config.Change) (secret, error) {
	a, err := m.store.App(ctx, c.App)
	if err != nil {
		return secret{}, err
	}
	made, err := rewards.NewWebhookSecret(rand.Reader)
	if err != nil {
		return secret{}, err
	}
	e := c.Endpoint
	e.AppID = a.ID
	if e.Secret, err = m.keyring.Seal(a.ID, made); err != nil {
		return secret{}, err
	}
	return m.files.keep("secret", webhookFile(c.App, c.Name), rewards.ShowWebhookSecret(made), func() error {
		_, err := m.as("webhook create").AddWebhook(ctx, e)
		return err
	})
}
