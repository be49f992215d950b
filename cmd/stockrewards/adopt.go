package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/store"
)

type orderAdopt struct {
	databaseFlag
	brokerFlags
	ClientOrderID string `arg:"" help:"The client order id, from fulfillment status."`
	Reason        string `required:"" placeholder:"TEXT" help:"State what you found; stored with the order."`
}

// Run adopts the order, as the broker tells of it.
func (c *orderAdopt) Run(ctx context.Context) error {
	if strings.TrimSpace(c.Reason) == "" {
		return usageErrorf("--reason must not be empty")
	}
	return c.operate(ctx, "order adopt", reasonFlag{c.Reason}, func(s *store.Operator) error {
		return c.withBroker(ctx, c.databaseFlag, s.Store, func(broker *alpaca.Client) error {
			b, err := broker.OrderByClientID(ctx, c.ClientOrderID)
			if err != nil {
				return fmt.Errorf("the broker does not show the order, so nothing is done: %w", err)
			}
			o, err := s.AdoptOrder(ctx, b, c.Reason)
			if err != nil {
				return err
			}
			sayf("adopted as order %s; `serve` follows and books it\n", o.ID)
			return nil
		})
	})
}

// withBroker runs f with the broker that the books belong to. It fails when the
// credentials are for another account.
func (f brokerFlags) withBroker(
	ctx context.Context, d databaseFlag, s *store.Store, use func(*alpaca.Client) error,
) error {
	in, err := s.Installation(ctx)
	if err != nil {
		return err
	}
	if in.BrokerKind != "" {
		f.Broker = in.BrokerKind
	}
	path, err := d.path()
	if err != nil && !d.onPostgres() {
		return err
	}
	broker, closeBroker, err := f.connect(ctx, path, slog.New(slog.NewTextHandler(os.Stderr, nil)), nil)
	if err != nil {
		return err
	}
	account, err := broker.Account(ctx)
	switch {
	case err != nil:
		err = fmt.Errorf("the broker could not be asked, so nothing is decided: %w", err)
	case in.BrokerAccount != "" && account.ID != in.BrokerAccount:
		err = fmt.Errorf("these credentials are for the account %s; the books belong to %s",
			account.ID, in.BrokerAccount)
	default:
		err = use(broker)
	}
	return errors.Join(err, closeBroker())
}
