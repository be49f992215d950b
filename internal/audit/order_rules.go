package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
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
	}
}

func orderAsset(v *orderView) (found, expected string) {
	if !v.assets[v.asset] {
		return "asset " + number(v.asset), "an asset of the catalog"
	}
	if v.symbol == "" {
		return "no symbol", "the symbol that is sent"
	}
	return "", ""
}

// membersHash seals the members again: app, reward and amount of each, by position.
func membersHash(v *orderView) (found, expected string) {
	h := sha256.New()
	line := make([]byte, 0, 2*idBytes+8)
	for i := range v.members {
		m := &v.members[i]
		line = append(append(line[:0], m.app...), m.reward...)
		h.Write(binary.BigEndian.AppendUint64(line, unsigned(m.amount)))
	}
	if sum := h.Sum(line[:0]); v.membersHash != string(sum) {
		return "the seal " + hex.EncodeToString([]byte(v.membersHash)),
			hex.EncodeToString(sum) + ", that of its " + number(int64(len(v.members))) + " members"
	}
	return "", ""
}

func memberOrder(v *orderView) (found, expected string) {
	if len(v.members) == 0 {
		return "no members", "one or more"
	}
	for i := range v.members {
		m := &v.members[i]
		if m.position != int64(i) {
			return "position " + number(m.position), "position " + number(int64(i))
		}
		if i > 0 && m.reward <= v.members[i-1].reward {
			return fmt.Sprintf("reward %s after %s", uuid(m.reward), uuid(v.members[i-1].reward)),
				"rewards in order of arrival, each once"
		}
		if m.amount <= 0 {
			return usd(m.amount) + " at position " + number(m.position), "more than $0"
		}
	}
	return "", ""
}

func orderAmount(v *orderView) (found, expected string) {
	if sum := v.carrying.plus(wideOf(v.house)); !sum.is(v.notional) {
		return "notional " + usd(v.notional),
			sum.usd() + ", " + v.carrying.usd() + " of its members and " + usd(v.house) + " of the house"
	}
	return judge(
		func() string { return "notional " + usd(v.notional) + ", of it the house's " + usd(v.house) },
		must{v.notional >= dollar && v.notional%cent == 0, "whole cents, $1 or more"},
		must{v.house >= 0 && v.house < v.notional, "a part of the house from $0 to below the notional"},
	)
}

// story is the short story of an order.
func (v *orderView) story() string {
	return fmt.Sprintf("%s, %d attempts, the first at %s, broker's id %q and status %q, filled %s, "+
		"reason %q, settled at %s", stateName(v.state), v.attempts, micros(v.firstAttemptAt), v.brokerID,
		v.brokerStatus, shares(v.filledQty), v.reason, micros(v.settledAt))
}

func orderState(v *orderView) (found, expected string) {
	never := v.state == planned
	final := v.state == settled || v.state == refused
	unheard := v.brokerID == "" && v.brokerStatus == "" && v.filledQty == 0
	return judge(
		v.story,
		must{v.state >= planned && v.state <= refused, "a state from 1 to 7"},
		must{v.attempts >= 0 && never == (v.attempts == 0), "attempts exactly when it is not planned"},
		must{(v.attempts == 0) == (v.firstAttemptAt == 0), "the time of the first attempt if there was one"},
		must{final == (v.settledAt != 0), "a time of settlement exactly when final"},
		must{!never || unheard, "nothing of the broker before the first attempt"},
		must{v.state != refused || v.filledQty == 0, "nothing filled of a refused order"},
		must{v.state != refused || v.reason != "", "the reason of the refusal"},
		must{v.state != quarantined || v.reason != "", "the reason of the quarantine"},
	)
}

func orderEnd(v *orderView) (found, expected string) {
	ended := false
	switch v.brokerStatus {
	case "filled", "canceled", "expired", "rejected":
		ended = true
	}
	return judge(
		v.story,
		must{v.state != settled || ended, "an end at the broker: filled, canceled, expired or rejected"},
		must{v.brokerStatus != "filled" || v.filledQty > 0, "a fill of more than 0 shares when filled"},
	)
}

func orderResolution(v *orderView) (found, expected string) {
	n := len(v.resolutions)
	if n == 0 {
		return judge(v.story, must{v.state != resolved, "the resolution of a resolved order"})
	}
	r := v.resolutions[0]
	booked := v.state == resolved || v.state == settled
	return judge(
		func() string {
			return fmt.Sprintf("%d resolutions, the first of %s at %s; %s",
				n, shares(r.filledQty), price(r.price), v.story())
		},
		must{n == 1, "one resolution"},
		must{booked || v.state == quarantined, "an order that was quarantined and resolved"},
		must{r.filledQty >= 0 && r.price >= 0 && (r.filledQty == 0 || r.price > 0), "a fill with its price"},
		must{!booked || r.filledQty == v.filledQty && r.price == v.price, "the fill of the order"},
	)
}

func fillCost(v *orderView) (found, expected string) {
	spent, ok := cost(v.filledQty, v.price)
	tolerated := max(cent, v.notional/10_000)
	most := wideOf(v.notional).plus(wideOf(tolerated))
	whole := v.brokerStatus == "filled" && (v.state == settled || v.state == resolved)
	return judge(
		func() string {
			return fmt.Sprintf("%s at %s for %s", shares(v.filledQty), price(v.price), usd(v.notional))
		},
		must{v.filledQty >= 0 && v.price >= 0, "no negative quantity or price"},
		must{v.filledQty <= 0 || v.price > 0, "a price of the fill"},
		must{ok && !most.less(wideOf(spent)), "a cost of at most the notional and a cent, or 0.01 %"},
		must{
			!whole || v.notional-spent <= tolerated+crumb(v.price),
			"a cost of the whole notional of a filled order, but for a cent, or 0.01 %, and a billionth of a share",
		},
	)
}

func allocationSum(v *orderView) (found, expected string) {
	sum := v.shares.plus(wideOf(v.houseShares))
	want := int64(0)
	if v.state == settled {
		want = v.filledQty
	}
	if sum.is(want) && v.houseShares >= 0 {
		return "", ""
	}
	found = sum.shares() + ": " + v.shares.shares() + " allocated and the house's " + shares(v.houseShares)
	return found, shares(want) + " of an order that is " + stateName(v.state)
}

func orderTimes(v *orderView) (found, expected string) {
	created := createdMillis(v.id)
	planned := created * microsPerMilli
	for i := range v.members {
		if at := createdMillis(v.members[i].reward); at > created {
			return "planned at " + micros(planned),
				"not before its reward " + uuid(v.members[i].reward) + " of " + micros(at*microsPerMilli)
		}
	}
	var resolvedAt int64
	if len(v.resolutions) > 0 {
		resolvedAt = v.resolutions[0].at
	}
	return judge(
		func() string {
			return fmt.Sprintf("planned at %s, first attempt at %s, resolved at %s, settled at %s",
				micros(planned), micros(v.firstAttemptAt), micros(resolvedAt), micros(v.settledAt))
		},
		must{v.attempts == 0 || v.firstAttemptAt >= planned, "the first attempt not before the planning"},
		must{resolvedAt == 0 || resolvedAt >= v.firstAttemptAt, "the resolution after the first attempt"},
		must{v.settledAt == 0 || v.settledAt >= max(v.firstAttemptAt, resolvedAt), "the settlement last"},
	)
}
