package rewards

// KeyedReward is a stored reward with the fingerprint of the request that created it.
type KeyedReward struct {
	Fingerprint Fingerprint
	Reward      Reward
}

// Decide answers a request to award stock. stored is what its idempotency key holds, nil
// for an unused key. id is the reward id that the request has or gets: a stored reward with
// that id comes from an attempt of the same request whose commit was ambiguous. userExists
// matters only for an unused key. When the key is unused and the verdict is Created, the
// caller must store the reward returned.
func (r NewReward) Decide(id RewardID, stored *KeyedReward, userExists bool) Outcome {
	switch {
	case stored != nil && !r.Matches(stored.Fingerprint):
		return Outcome{Verdict: Conflict}
	case stored != nil && stored.Reward.ID == id:
		return Outcome{Verdict: Created, Reward: stored.Reward}
	case stored != nil:
		return Outcome{Verdict: Replay, Reward: stored.Reward}
	case !userExists:
		return Outcome{Verdict: NoSuchUser}
	case r.AssetID == 0:
		return Outcome{Verdict: NotGiftable}
	case r.TooSmall():
		return Outcome{Verdict: BelowMinAward}
	}
	return Outcome{Verdict: Created, Reward: Reward{
		AppID: r.AppID, ID: id, UserID: r.UserID, IdempotencyKey: r.IdempotencyKey, Amount: r.Amount,
		AssetID: r.AssetID, Symbol: r.Symbol, Source: r.Source, Metadata: r.Metadata, Status: Recorded,
	}}
}
