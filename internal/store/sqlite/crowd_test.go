package sqlite_test

import (
	"fmt"
	"testing"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store/storetest"
)

// While a crowd of clients waits for the writer, orders are small. Later they are as large as ever.
func TestOrdersAreSmallForACrowd(t *testing.T) {
	t.Parallel()
	w := storetest.NewWorld(t, opener(migratedFile)(t))
	commit := func(commits, requests int) {
		for n := range commits {
			batch := make([]rewards.NewReward, requests)
			for i := range batch {
				batch[i] = w.Request(t, money.Dollar)
				batch[i].IdempotencyKey = fmt.Sprint("crowd-", requests, "-", n, "-", i)
				batch[i].Fingerprint = rewards.NewFingerprint(batch[i], "")
			}
			_, err := w.RecordRewards(t.Context(), batch)
			check(t, err)
		}
	}
	commit(50, 32)
	if o := w.Plan(t); o.Notional != 250*money.Dollar {
		t.Errorf("with a crowd an order of %s, want 250", o.Notional)
	}
	commit(200, 1)
	if o := w.Plan(t); o.Notional != 1000*money.Dollar {
		t.Errorf("after the crowd an order of %s, want 1000", o.Notional)
	}
}
