package server

import (
	"context"
	"log/slog"

	"stockrewards/internal/rewards"
)

// UpgradeOrders calls a function that upgrades orders until it succeeds.
func UpgradeOrders(ctx context.Context, upgrade func(context.Context, func(rewards.OrderID)) error) {
	s := &Server{log: slog.New(slog.DiscardHandler)}
	s.upgradeOrders(ctx, "testing", upgrade)
}
