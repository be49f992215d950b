package postgres_test

import (
	"crypto/rand"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/storetest"
)

// An order's id is later than those of its rewards, even if another process, whose clock is
// ahead, recorded them.
func TestOrdersFollowRewardsOfOtherClocks(t *testing.T) {
	t.Parallel()
	e := open(t, database(t, cluster(t)), postgres.Options{})
	w := storetest.NewWorld(t, e)
	ahead, err := store.New(t.Context(), e, func() time.Time { return w.Now().Add(2 * time.Second) }, rand.Reader)
	check(t, err)
	outcomes, err := ahead.RecordRewards(t.Context(), []rewards.NewReward{w.Request(t, 1_000_000)})
	check(t, err)
	given := outcomes[0].Reward
	w.Advance(time.Second)
	if o := w.Plan(t); !o.CreatedAt().After(given.CreatedAt()) {
		t.Errorf("planned at %s, the reward was recorded at %s", o.CreatedAt(), given.CreatedAt())
	}
}
