package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// verdicts records a batch and returns its verdicts.
func (w *World) verdicts(t *testing.T, batch ...rewards.NewReward) []rewards.Verdict {
	t.Helper()
	outcomes, err := w.RecordRewards(t.Context(), batch)
	check(t, err)
	verdicts := make([]rewards.Verdict, len(outcomes))
	for i, o := range outcomes {
		verdicts[i] = o.Verdict
	}
	return verdicts
}

func wantVerdicts(t *testing.T, got []rewards.Verdict, want ...rewards.Verdict) {
	t.Helper()
	wantEqual(t, "verdicts", want, got)
}

// changed returns the request with another amount under the same key.
func changed(r rewards.NewReward) rewards.NewReward {
	r.Amount++
	r.Fingerprint = rewards.NewFingerprint(r, "")
	return r
}

func testVerdicts(t *testing.T, w *World) {
	r := w.Request(t, 5_250_000)
	r.Source, r.Metadata = "campaign", `{"b":1,"a":"\u0000"}`
	created := w.record(t, r)
	want := rewards.Reward{
		AppID: r.AppID, ID: created.ID, UserID: r.UserID, IdempotencyKey: r.IdempotencyKey, Amount: r.Amount,
		AssetID: r.AssetID, Symbol: "AAPL", Source: "campaign", Metadata: r.Metadata, Status: rewards.Recorded,
	}
	for name, got := range map[string]rewards.Reward{"created": created, "read again": w.reward(t, created)} {
		wantEqual(t, name, want, got)
	}
	if got := created.CreatedAt(); !got.Equal(w.Now().Truncate(time.Millisecond)) {
		t.Errorf("created at %s, want %s", got, w.Now())
	}
	// The key is checked first: a replay ignores that the asset is no longer in the catalog.
	delisted := r
	delisted.AssetID = 0
	noUser, noAsset := w.Request(t, 1_000_000), w.Request(t, 1_000_000)
	noUser.UserID, noUser.AssetID = rewards.UserID{9}, 0
	noAsset.AssetID = 0
	small, noAssetAndSmall, smallReplay := w.Request(t, 999_999), w.Request(t, 999_999), r
	small.MinAmount, noAssetAndSmall.MinAmount, smallReplay.MinAmount = 1_000_000, 1_000_000, r.Amount+1
	noAssetAndSmall.AssetID = 0
	wantVerdicts(t, w.verdicts(t, r, delisted, changed(r), noUser, noAsset, small, noAssetAndSmall, smallReplay),
		rewards.Replay, rewards.Replay, rewards.Conflict, rewards.NoSuchUser, rewards.NotGiftable,
		rewards.BelowMinAward, rewards.NotGiftable, rewards.Replay)
	replayed, err := w.RecordRewards(t.Context(), []rewards.NewReward{r})
	check(t, err)
	wantEqual(t, "replayed", want, replayed[0].Reward)
}

func testBatch(t *testing.T, w *World) {
	w.Give(t, 1_000_000) // after the first reward of a stock an engine may commit with the statement
	stranger := w.Request(t, 1_000_000)
	stranger.UserID = rewards.UserID{9}
	wantVerdicts(t, w.verdicts(t, stranger), rewards.NoSuchUser)
	created := w.Request(t, 1_000_000)
	wantVerdicts(t, w.verdicts(t, created, created), rewards.Created, rewards.Replay)
	twice := w.Request(t, 1_000_000)
	refused := w.Request(t, 1_000_000)
	valid := refused
	refused.UserID = rewards.UserID{9}
	refused.Fingerprint = rewards.NewFingerprint(refused, "")
	wantVerdicts(t, w.verdicts(t, twice, changed(twice), twice, refused, valid, refused, valid),
		rewards.Created, rewards.Conflict, rewards.Replay,
		rewards.NoSuchUser, rewards.Created, rewards.Conflict, rewards.Replay)
	list, err := w.Rewards(t.Context(), w.App.ID, rewards.RewardFilter{}, all[rewards.Reward]())
	check(t, err)
	if len(list) != 4 {
		t.Errorf("%d rewards are stored, want 4", len(list))
	}
	repeated := []rewards.NewReward{twice, w.Request(t, 2_000_000), valid, created}
	outcomes, err := w.RecordRewards(t.Context(), repeated)
	check(t, err)
	for i, o := range outcomes { // each has its own reward
		wantEqual(t, "the key", repeated[i].IdempotencyKey, o.Reward.IdempotencyKey)
	}
}

func testPoison(t *testing.T, w *World) {
	good, poison := w.Request(t, 1_000_000), w.Request(t, 0) // without an amount, which the service refuses before
	_, err := w.RecordRewards(t.Context(), []rewards.NewReward{good, poison})
	if err == nil || rewards.CodeOf(err) == rewards.CodeUnavailable {
		t.Fatalf("got %v, want an error about the row", err)
	}
	list, err := w.Rewards(t.Context(), w.App.ID, rewards.RewardFilter{}, all[rewards.Reward]())
	check(t, err)
	if len(list) != 0 {
		t.Errorf("%d rewards of a failed batch are stored", len(list))
	}
	wantVerdicts(t, w.verdicts(t, good), rewards.Created)
}

func testRecordAtOnce(t *testing.T, w *World) {
	const clients = 16
	r := w.Request(t, 1_000_000)
	verdicts := make([]rewards.Verdict, clients)
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			if outcomes, err := w.RecordRewards(t.Context(), []rewards.NewReward{r}); err == nil {
				verdicts[i] = outcomes[0].Verdict
			}
		})
	}
	group.Wait()
	counts := map[rewards.Verdict]int{}
	for _, v := range verdicts {
		counts[v]++
	}
	wantEqual(t, "verdicts", map[rewards.Verdict]int{rewards.Created: 1, rewards.Replay: clients - 1}, counts)
}

func testAssets(t *testing.T, w *World) {
	check(t, w.SeedAssets(t.Context(), []rewards.Asset{{Symbol: "NEW", Name: "ignored"}}))
	check(t, w.SetEnabled(t.Context(), "KO", false))
	wantCode(t, w.SetEnabled(t.Context(), "NEW", true), rewards.CodeNotFound)
	assets := read(t, w.Assets)
	got := ""
	for _, a := range assets {
		got += fmt.Sprint(a.Symbol, a.Enabled, " ")
	}
	if want := "AAPLtrue KOfalse TSLAtrue "; got != want {
		t.Errorf("assets %s, want %s", got, want)
	}
}
