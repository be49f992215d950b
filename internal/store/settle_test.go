package store_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// A transaction books many orders, but no other order when a client waits to write.
func TestBookingGivesWayToClients(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := store.New(t.Context(), newSlow(10*time.Millisecond), time.Now, zeros{})
		if err != nil {
			t.Fatal(err)
		}
		var client sync.WaitGroup
		arrives := 2 // after how many orders a client comes
		end := rewards.OrderEnd{From: rewards.OrderOpen, Order: rewards.Order{State: rewards.OrderOpen}}
		end.Book = func([]rewards.Claim, money.Shares) (rewards.Settlement, error) {
			arrives--
			if arrives == 0 {
				client.Go(func() {
					if _, err := s.RecordRewards(t.Context(), make([]rewards.NewReward, 1)); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
			return rewards.Settlement{State: rewards.OrderSettled}, nil
		}
		for _, want := range []int{2, 3} {
			n, err := s.SettleOrders(t.Context(), rewards.Lease{}, end, end, end)
			if n != want || err != nil {
				t.Errorf("booked %d, %v; want %d", n, err, want)
			}
			client.Wait()
		}
	})
}
