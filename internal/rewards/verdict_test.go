package rewards_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

// The order of the verdicts is the interface's: the key first, then the user, the asset and the amount.
func TestDecide(t *testing.T) {
	t.Parallel()
	own, other := rewards.RewardID{1}, rewards.RewardID{2}
	good := rewards.NewReward{
		AppID: rewards.AppID{3}, UserID: rewards.UserID{4}, IdempotencyKey: "key-0001", Amount: 5_000_000,
		Symbol: "AAPL", Source: "signup", Metadata: "{}", AssetID: 6, MinAmount: 1_000_000,
	}
	good.Fingerprint = rewards.NewFingerprint(good, "")
	stored := rewards.Reward{ID: other, Amount: 5_000_000, Status: rewards.Executed}
	created := rewards.Reward{
		AppID: good.AppID, ID: own, UserID: good.UserID, IdempotencyKey: good.IdempotencyKey, Amount: good.Amount,
		AssetID: 6, Symbol: "AAPL", Source: "signup", Metadata: "{}", Status: rewards.Recorded,
	}
	noAsset, small := good, good
	noAsset.AssetID, noAsset.MinAmount = 0, 9_000_000
	small.MinAmount = 9_000_000
	same, different := &rewards.KeyedReward{Fingerprint: good.Fingerprint, Reward: stored}, &rewards.KeyedReward{Reward: stored}
	older := &rewards.KeyedReward{Fingerprint: good.FingerprintV1(), Reward: stored}
	for name, test := range map[string]struct {
		request rewards.NewReward
		id      rewards.RewardID
		stored  *rewards.KeyedReward
		user    bool
		want    rewards.Outcome
	}{
		"new":                        {good, own, nil, true, rewards.Outcome{Verdict: rewards.Created, Reward: created}},
		"replay":                     {good, own, same, true, rewards.Outcome{Verdict: rewards.Replay, Reward: stored}},
		"replay of an older program": {good, own, older, true, rewards.Outcome{Verdict: rewards.Replay, Reward: stored}},
		"replay though the user, the asset and the amount are refused now": {
			noAsset, own, same, false, rewards.Outcome{Verdict: rewards.Replay, Reward: stored},
		},
		"own earlier attempt":          {good, other, same, true, rewards.Outcome{Verdict: rewards.Created, Reward: stored}},
		"conflict":                     {good, own, different, true, rewards.Outcome{Verdict: rewards.Conflict}},
		"conflict before all else":     {noAsset, own, different, false, rewards.Outcome{Verdict: rewards.Conflict}},
		"no such user, before asset":   {noAsset, own, nil, false, rewards.Outcome{Verdict: rewards.NoSuchUser}},
		"not giftable, before amount":  {noAsset, own, nil, true, rewards.Outcome{Verdict: rewards.NotGiftable}},
		"below the smallest award now": {small, own, nil, true, rewards.Outcome{Verdict: rewards.BelowMinAward}},
	} {
		if diff := cmp.Diff(test.want, test.request.Decide(test.id, test.stored, test.user)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
