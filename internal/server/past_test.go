package server_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/server"
)

// The upgrade of an older version's orders goes on after errors, until it is done or the service ends.
func TestAnUpgradeIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, calls := time.Now(), 0
		server.UpgradeOrders(t.Context(), func(_ context.Context, progress func(rewards.OrderID)) error {
			calls++
			progress(rewards.OrderID{byte(calls)})
			if calls < 3 {
				return errors.New("the database is away")
			}
			return nil
		})
		if took := time.Since(began); calls != 3 || took != 20*time.Second {
			t.Errorf("%d calls in %s", calls, took)
		}
		ctx, stop := context.WithCancel(t.Context())
		server.UpgradeOrders(ctx, func(context.Context, func(rewards.OrderID)) error {
			stop()
			return ctx.Err()
		})
	})
}
