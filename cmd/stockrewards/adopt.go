package main

import (
	"context"
	"fmt"

	"stockrewards/internal/server"
	"stockrewards/internal/store"
)

type orderAdopt struct {
	databaseFlag
	brokerFlags
	ClientOrderID string `arg:"" help:"The client order id, from fulfillment status."`
	Reason        string `required:"" placeholder:"TEXT" help:"Give your findings, which are stored with the order."`
}

// Run adopts the order as the broker reports it.
func (c *orderAdopt) Run(ctx context.Context) error {
	return c.operate(ctx, "order adopt", required(c.Reason), func(s *store.Operator) error {
		return c.withBroker(ctx, c.databaseFlag, s.Store, func(broker server.Connection) error {
			b, err := broker.OrderByClientID(ctx, c.ClientOrderID)
			if err != nil {
				return fmt.Errorf("cannot find the order at the broker, so nothing is done: %w", err)
			}
			o, err := s.AdoptOrder(ctx, b, c.Reason)
			if err != nil {
				return err
			}
			sayf("adopted as order %s; `serve` polls and settles it\n", o.ID)
			return nil
		})
	})
}
