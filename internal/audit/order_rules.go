package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"stockrewards/internal/audit/value"
)

func orderRules() []rule[*orderView] {
	return []rule[*orderView]{
		{checkAssetKnown, orderAsset},
		{checkMembersHash, membersHash},
		{checkMemberOrder, memberOrder},
		{checkOrderAmount, orderAmount},
		{checkOrderState, orderState},
		{checkOrderEnd, orderEnd},
		{checkResolution, orderResolution},
		{checkFillCost, fillCost},
		{checkAllocationSum, allocationSum},
		{checkOrderTimes, orderTimes},
		{checkPlaces, orderPlaces},
	}
}

func orderAsset(v *orderView) (found, expected string) {
	if !v.assets[v.asset] {
		return value.Asset(v.asset), "an asset of the catalog"
	}
	if v.symbol == "" {
		return "no symbol", "the symbol that is sent"
	}
	return "", ""
}

// membersHash recomputes the seal: app, reward and amount of each member, by position.
func membersHash(v *orderView) (found, expected string) {
	h := sha256.New()
	line := make([]byte, 0, 2*value.IDBytes+8)
	for i := range v.members {
		m := &v.members[i]
		line = append(append(line[:0], m.app...), m.reward...)
		h.Write(binary.BigEndian.AppendUint64(line, uint64(m.amount)))
	}
	if sum := h.Sum(line[:0]); v.membersHash != string(sum) {
		return "seal " + hex.EncodeToString([]byte(v.membersHash)),
			hex.EncodeToString(sum) + ", the seal of its " + value.Int(int64(len(v.members))) + " members"
	}
	return "", ""
}

func memberOrder(v *orderView) (found, expected string) {
	if len(v.members) == 0 && v.house != v.notional {
		return "no members", "one or more, or an order of the house alone"
	}
	for i := range v.members {
		m := &v.members[i]
		if m.position != int64(i) {
			return "position " + value.Int(m.position), "position " + value.Int(int64(i))
		}
		if i > 0 && m.reward <= v.members[i-1].reward {
			return fmt.Sprintf("reward %s after %s", value.UUID(m.reward), value.UUID(v.members[i-1].reward)),
				"rewards in order of arrival, each once"
		}
		if m.amount <= 0 {
			return value.USD(m.amount) + " at position " + value.Int(m.position), "more than $0"
		}
	}
	return "", ""
}

func orderAmount(v *orderView) (found, expected string) {
	if sum := v.carrying.Plus(value.SumOf(v.house)); !sum.Is(v.notional) {
		return "notional " + value.USD(v.notional),
			sum.USD() + ", " + v.carrying.USD() + " of its members and " + value.USD(v.house) + " of the house"
	}
	return judge(
		func() string { return "notional " + value.USD(v.notional) + ", the house's part " + value.USD(v.house) },
		must{v.notional >= value.Dollar && v.notional%value.Cent == 0, "whole cents, $1 or more"},
		must{v.house <= v.notional, "a house's part of at most the notional"},
		must{v.house < v.notional || len(v.members) == 0, "a house's part below the notional with members"},
	)
}

// describe summarizes an order.
func (v *orderView) describe() string {
	return fmt.Sprintf("%s, %d attempts, the first at %s, broker's id %q and status %q, filled %s, "+
		"reason %q, settled at %s", value.OrderState(v.state), v.attempts, value.Time(v.firstAttemptAt), v.brokerID,
		v.brokerStatus, value.Shares(v.filledQty), v.reason, value.Time(v.settledAt))
}

func orderState(v *orderView) (found, expected string) {
	never := v.state == value.Planned
	final := v.state == value.Settled || v.state == value.Refused
	unknown := v.brokerID == "" && v.brokerStatus == "" && v.filledQty == 0
	return judge(
		v.describe,
		must{v.state >= value.Planned && v.state <= value.Refused, "a state from 1 to 7"},
		must{v.attempts >= 0 && never == (v.attempts == 0), "attempts exactly when it is not planned"},
		must{(v.attempts == 0) == (v.firstAttemptAt == 0), "the time of the first attempt exactly when there was one"},
		must{final == (v.settledAt != 0), "a time of settlement exactly when final"},
		must{!never || unknown, "nothing of the broker before the first attempt"},
		must{v.state != value.Refused || v.filledQty == 0, "no fill of a refused order"},
		must{v.state != value.Refused || v.reason != "", "the reason of the refusal"},
		must{v.state != value.Quarantined || v.reason != "", "the reason of the quarantine"},
	)
}

func orderEnd(v *orderView) (found, expected string) {
	ended := value.EndedAtBroker(v.brokerStatus)
	return judge(
		v.describe,
		must{v.state != value.Settled || ended, "an end at the broker: filled, canceled, expired or rejected"},
		must{v.brokerStatus != "filled" || v.filledQty > 0, "a fill of more than 0 shares when filled"},
	)
}

func orderResolution(v *orderView) (found, expected string) {
	n := len(v.resolutions)
	if n == 0 {
		return judge(v.describe, must{v.state != value.Resolved, "the resolution of a resolved order"})
	}
	r := v.resolutions[0]
	booked := v.state == value.Resolved || v.state == value.Settled
	return judge(
		func() string {
			return fmt.Sprintf("%d resolutions, the first of %s at %s; %s",
				n, value.Shares(r.filledQty), value.Price(r.price), v.describe())
		},
		must{n == 1, "one resolution"},
		must{booked || v.state == value.Quarantined, "an order that was quarantined and resolved"},
		must{r.filledQty >= 0 && r.price >= 0 && (r.filledQty == 0 || r.price > 0), "a fill with its price"},
		must{!booked || r.filledQty == v.filledQty && r.price == v.price, "the fill of the order"},
	)
}

func fillCost(v *orderView) (found, expected string) {
	spent, ok := value.Cost(v.filledQty, v.price)
	tolerated := max(value.Cent, v.notional/10_000)
	most := value.SumOf(v.notional).Plus(value.SumOf(tolerated))
	whole := v.brokerStatus == "filled" && (v.state == value.Settled || v.state == value.Resolved)
	return judge(
		func() string {
			return fmt.Sprintf("%s at %s for %s",
				value.Shares(v.filledQty), value.Price(v.price), value.USD(v.notional))
		},
		must{v.filledQty >= 0 && v.price >= 0, "no negative quantity or price"},
		must{v.filledQty <= 0 || v.price > 0, "a price for the fill"},
		must{ok && !most.Less(value.SumOf(spent)), "a cost of at most the notional plus a cent or 0.01 %"},
		must{
			!whole || v.notional-spent <= tolerated+value.LeastCost(v.price),
			"a cost of the whole notional, less at most a cent or 0.01 % and the cost of a billionth of a share",
		},
	)
}

func allocationSum(v *orderView) (found, expected string) {
	sum := v.shares.Plus(value.SumOf(v.houseShares))
	want := int64(0)
	if v.state == value.Settled {
		want = v.filledQty
	}
	if sum.Is(want) && (v.houseShares >= 0 || v.house < 0) {
		return "", ""
	}
	found = sum.Shares() + ": " + v.shares.Shares() + " allocated, the house's " + value.Shares(v.houseShares)
	return found, value.Shares(want) + " of an order that is " + value.OrderState(v.state)
}

func orderTimes(v *orderView) (found, expected string) {
	planned := value.Created(v.id)
	for i := range v.members {
		if at := value.Created(v.members[i].reward); at > planned {
			return "planned at " + value.Time(planned),
				"not before its reward " + value.UUID(v.members[i].reward) + " of " + value.Time(at)
		}
	}
	var resolvedAt int64
	if len(v.resolutions) > 0 {
		resolvedAt = v.resolutions[0].at
	}
	return judge(
		func() string {
			return fmt.Sprintf("planned at %s, first attempt at %s, resolved at %s, settled at %s",
				value.Time(planned), value.Time(v.firstAttemptAt), value.Time(resolvedAt), value.Time(v.settledAt))
		},
		must{v.attempts == 0 || v.firstAttemptAt >= planned, "the first attempt not before the planning"},
		must{resolvedAt == 0 || resolvedAt >= v.firstAttemptAt, "the resolution after the first attempt"},
		must{v.settledAt == 0 || v.settledAt >= max(v.firstAttemptAt, resolvedAt), "the settlement last"},
	)
}
