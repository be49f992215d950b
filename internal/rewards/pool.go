package rewards

import "time"

// Pool is the rewards of one asset that wait for an order.
type Pool struct {
	Asset   Asset     // ID, Symbol, Doubt and Hold only
	Oldest  time.Time // when its oldest reward was recorded
	Blocked bool      // an order of the asset is quarantined
	Apps    []AppID   // with waiting rewards, suspended apps excluded

	HouseAlone bool // the house orders shares that it owes, without any reward
}

// PlanRequest asks for an order of one asset. In Limits, DailyLeft and HouseLeft are the
// limits of a whole day: the store subtracts what the day has spent and sets HouseSpent.
type PlanRequest struct {
	FilledUntil         time.Time // broker's time: see MarketClock.FilledUntil
	Asset               Asset
	Limits              PlanLimits
	ClientOrderIDPrefix string
	MaxMembers          int // most rewards in the order; 0 or above MaxMembers means MaxMembers
	Apps                int // apps with waiting rewards; an estimate of how much to read
}

// MemberLimit returns the most rewards that the order may have.
func (r PlanRequest) MemberLimit() int {
	if r.MaxMembers <= 0 {
		return MaxMembers
	}
	return min(r.MaxMembers, MaxMembers)
}

// MergePools merges the pools of single apps, oldest first, into one pool of each asset. A
// suspended app has no pool: its recorded rewards wait until it is resumed.
func MergePools(ofApps []Pool) []Pool {
	var pools []Pool
	place := make(map[AssetID]int)
	for _, p := range ofApps {
		i, known := place[p.Asset.ID]
		if !known {
			i = len(pools)
			place[p.Asset.ID] = i
			pools = append(pools, p)
			continue
		}
		pools[i].Apps = append(pools[i].Apps, p.Apps...)
	}
	return pools
}

// HoldAt returns why no order of the asset may be planned at the broker's time now; NoHold
// when one may.
func (a Asset) HoldAt(now time.Time) Hold {
	switch {
	case a.Doubt.Exists():
		return HoldDoubt
	case a.Hold.InForce(now):
		return HoldAction
	}
	return NoHold
}
