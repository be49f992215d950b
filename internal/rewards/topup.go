package rewards

import (
	"slices"

	"stockrewards/internal/money"
)

// TopUp is what the house adds for one app to an order below the broker's minimum.
type TopUp struct {
	AppID  AppID
	Amount money.USD
}

// topUp raises a small pool to the broker's minimum, or returns why it cannot. The house
// adds the missing dollars, in equal parts for each app of the pool. An app whose part
// exceeds its daily limit is left out of the order.
func (d *draft) topUp(p *Plan) Hold {
	switch oldest := d.members[0].RewardID.Time(); {
	case !d.limits.TopUp && !d.limits.Timer.expired(oldest):
		return HoldSmallPool
	case MinNotional > d.limits.DailyLeft:
		return HoldDaily
	}
	for len(d.members) > 0 {
		apps := appsOf(d.members)
		parts := equalParts(MinNotional-d.sum, apps)
		if MinNotional-d.sum > d.limits.HouseLeft {
			return HoldHouse
		}
		over := slices.DeleteFunc(slices.Clone(parts), func(t TopUp) bool {
			return t.Amount <= d.limits.HousePerApp-d.limits.HouseSpent[t.AppID]
		})
		if len(over) == 0 {
			p.TopUps = parts
			return NoHold
		}
		d.leaveOut(over)
	}
	return HoldAppHouse
}

// leaveOut removes the rewards of these apps from the order.
func (d *draft) leaveOut(apps []TopUp) {
	d.members = slices.DeleteFunc(d.members, func(m Member) bool {
		if !slices.ContainsFunc(apps, func(t TopUp) bool { return t.AppID == m.AppID }) {
			return false
		}
		d.sum -= m.Amount
		d.skip(m.AppID, HoldAppHouse, m.Amount)
		return true
	})
}

// appsOf returns the apps of the members, in the order of their first member.
func appsOf(members []Member) []AppID {
	var apps []AppID
	seen := make(map[AppID]bool)
	for _, m := range members {
		if !seen[m.AppID] {
			seen[m.AppID] = true
			apps = append(apps, m.AppID)
		}
	}
	return apps
}

// equalParts divides an amount among apps; the first ones get a millionth more when it does
// not divide evenly.
func equalParts(amount money.USD, apps []AppID) []TopUp {
	n := money.USD(len(apps))
	parts := make([]TopUp, len(apps))
	for i, app := range apps {
		parts[i] = TopUp{AppID: app, Amount: amount / n}
		if money.USD(i) < amount%n {
			parts[i].Amount++
		}
	}
	return slices.DeleteFunc(parts, func(t TopUp) bool { return t.Amount == 0 })
}
