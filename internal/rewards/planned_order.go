package rewards

import "time"

// NewOrder returns the order of a plan, planned and never sent.
func NewOrder(id OrderID, clientOrderID string, a Asset, p Plan) Order {
	return Order{
		ID: id, ClientOrderID: clientOrderID, State: OrderPlanned,
		AssetID: a.ID, AssetBrokerID: a.BrokerID, Symbol: a.Symbol,
		Notional: p.Notional, House: p.House, MembersHash: HashMembers(p.Members),
	}
}

// adoptedLookup is how long an adopted order is looked up at the broker, which has just
// reported it, before it is quarantined.
const adoptedLookup = 24 * time.Hour

// Adopted returns a planned order that the broker already has: as if this service had sent
// it and did not know the outcome.
func (o Order) Adopted(now time.Time) Order {
	return o.Attempt(now, time.Time{}, notBefore(now, o.CreatedAt()).Add(adoptedLookup))
}

// HoldAt is why no order of the asset may be planned at the moment now of the broker's
// time; NoHold when one may.
func (a Asset) HoldAt(now time.Time) Hold {
	switch {
	case a.Doubt.Exists():
		return HoldDoubt
	case a.Hold.InForce(now):
		return HoldAction
	}
	return NoHold
}

// MergePools makes one pool of each asset from the pools of single apps, which come oldest
// first. A suspended app has no pool: its recorded rewards wait until it is resumed.
func MergePools(ofApps []Pool) []Pool {
	var pools []Pool
	place := make(map[AssetID]int)
	for _, p := range ofApps {
		i, known := place[p.Asset.ID]
		if !known {
			i = len(pools)
			place[p.Asset.ID] = i
			pools = append(pools, p)
			pools[i].Apps = 0
		}
		pools[i].Apps++
	}
	return pools
}
