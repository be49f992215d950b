package server

import (
	"context"
	"crypto/rand"
	"log/slog"
	mathrand "math/rand/v2"
	"net/netip"
	"time"

	"stockrewards/internal/api"
	"stockrewards/internal/dbfile"
	"stockrewards/internal/rewards"
	"stockrewards/internal/webhook"
)

// Webhooks is what an operator sets about webhooks.
type Webhooks struct {
	KeyFile string          // seals secrets; "": beside an SQLite file, or no key over PostgreSQL
	Allow   []netip.Prefix  // special ranges that endpoints may be in
	Retries []time.Duration // the pauses before retries; nil: the standard ones
}

// WebhookKeyFile returns where the keys that seal the secrets of webhooks are: in the file that was
// set, or beside an SQLite file; "" over PostgreSQL without a file.
func WebhookKeyFile(set string, d Database) string {
	if set == "" && d.Postgres == "" {
		return dbfile.Beside(d.SQLite, func(database string) string { return database + ".webhook-key" })
	}
	return set
}

// openKeyring opens the keys that seal the secrets of webhooks, if there are any, and seals secrets
// again that are sealed with an older key.
func (s *Server) openKeyring(ctx context.Context) (err error) {
	path := WebhookKeyFile(s.cfg.Webhooks.KeyFile, s.cfg.Database)
	if path == "" {
		return s.countUnsent(ctx)
	}
	if s.keyring, err = webhook.OpenKeyring(path, s.cfg.Database.SQLite, rand.Reader); err != nil {
		return err
	}
	changed, err := s.Store.ResealWebhookSecrets(ctx, s.keyring.Reseal)
	if err != nil { // awards must not wait for a lost key
		s.log.ErrorContext(ctx, "cannot seal the secrets of webhooks with the newest key; "+
			"endpoints whose key is missing get nothing until the key file has it", slog.Any("error", err))
	}
	if changed > 0 {
		s.log.InfoContext(ctx, "sealed the secrets of webhooks with the newest key", slog.Int("endpoints", changed))
	}
	return nil
}

// unsent are the endpoints that get nothing from a process that should send, because it has no key file.
type unsent int

// Count implements admin.Webhooks.
func (n unsent) Count() rewards.WebhookCounts { return rewards.WebhookCounts{Locked: int(n)} }

// countUnsent counts the endpoints that a process without a key file does not send to.
func (s *Server) countUnsent(ctx context.Context) error {
	if s.cfg.Role == RoleAPI {
		return nil
	}
	all, err := s.Store.AllWebhookEndpoints(ctx)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.Disabled == "" {
			s.unsent++
		}
	}
	if s.unsent > 0 {
		s.log.WarnContext(ctx, "this process sends no webhooks, although there are endpoints: name the key file "+
			"of their secrets with --webhook-key-file")
	}
	return nil
}

// wireWebhooks configures the use cases of webhooks, and makes the dispatcher of a process that sends.
func (s *Server) wireWebhooks() {
	addresses := rewards.WebhookAddresses{Allow: s.cfg.Webhooks.Allow}
	settings := rewards.Webhooks{Addresses: addresses, Random: rand.Reader, Nudge: func() {}}
	if s.keyring != nil {
		settings.Sealer = s.keyring
	}
	if s.keyring != nil && s.cfg.Role != RoleAPI {
		sender := webhook.NewSender(addresses, s.cfg.Version)
		s.onClose(func() error { sender.Close(); return nil })
		retries := s.cfg.Webhooks.Retries
		if retries == nil {
			retries = rewards.RetrySchedule()
		}
		s.webhooks = webhook.New(webhook.Options{
			Store: s.Store, Sender: sender, Sealer: s.keyring, Observer: s.metrics, Holder: s.cfg.Fulfillment.Holder,
			Encode:   func(e rewards.Event) []byte { return api.AppendEventData(nil, e) },
			LeaseTTL: s.leaseTTL(), Exclusive: s.fleet == nil, Schedule: retries, Now: time.Now,
			Random: mathrand.Int64N, Log: s.log,
		})
		settings.Nudge = s.webhooks.Nudge
	}
	s.Service.SetWebhooks(settings)
}

// observer counts what the worker did, and wakes the dispatcher of webhooks.
type observer struct{ *Server }

// OrderEntered implements fulfillment.Observer.
func (o observer) OrderEntered(state rewards.OrderState) { o.metrics.OrderEntered(state) }

// RewardsEnded implements fulfillment.Observer.
func (o observer) RewardsEnded(status rewards.Status, n int) {
	o.metrics.RewardsEnded(status, n)
	if o.webhooks != nil {
		o.webhooks.Nudge()
	}
}
