package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/audit/value"
)

func rewardRules() []rule[*rewardView] {
	return []rule[*rewardView]{
		{checkStatusForward, statusForward},
		{checkExecutedComplete, executedComplete},
		{checkFailedNothingBought, failedNothingBought},
		{checkOpenFields, openFields},
		{checkOpenRewards, openRow},
		{checkAssetKnown, rewardAsset},
		{checkAmountRange, amountRange},
		{checkOneLiveOrder, oneLiveOrder},
		{checkPartsSum, partsSum},
		{checkCarriedRest, carriedRest},
		{checkChildAfterParent, childAfterParent},
		{checkRewardTimes, rewardTimes},
		{checkPlaces, livePlaces},
		{checkChains, chain},
	}
}

// fingerprint recomputes the fingerprint of the request from the stored fields: a version, then a
// hash of the user, the amount, and the strings with their lengths. Version 2 also hashes the app
// and the key; only rewards from before the seals may have version 1. Version 3 is the start of version 2.
func (a *auditor) fingerprint(v *reward) (found, expected string) {
	const version1, version2, version3, shortHash, lengths, room = 1, 2, 3, 16, 4 * 4, 256
	canonical := jsontext.Value(v.metadata)
	if v.metadata != "" {
		err := canonical.Canonicalize(
			jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
		if err != nil || canonical.Kind() != '{' {
			return "metadata that is not a JSON object", "a JSON object"
		}
	}
	request, first, size := make([]byte, 0, 2*value.IDBytes+8+lengths+room), byte(version3), shortHash
	if strings.HasPrefix(v.fingerprint, string(rune(version1))) && a.beforeSeals(v.id) {
		first, size = version1, sha256.Size
	} else {
		if strings.HasPrefix(v.fingerprint, string(rune(version2))) {
			first, size = version2, sha256.Size
		}
		request = appendString(append(request, v.app...), v.key)
	}
	request = append(request, v.user...)
	request = binary.BigEndian.AppendUint64(request, uint64(v.amount))
	request = appendString(request, v.symbol)
	request = appendString(request, v.source)
	request = appendString(request, string(canonical))
	sum := sha256.Sum256(request)
	if want := append([]byte{first}, sum[:size]...); v.fingerprint != string(want) {
		return value.Hex(v.fingerprint), value.Hex(string(want))
	}
	return "", ""
}

// describe summarizes a reward.
func (v *rewardView) describe() string {
	names := [...]string{"", "recorded", "executing", "executed", "failed"}
	status := "status " + value.Int(v.status)
	if v.status >= recorded && v.status <= failed {
		status = names[v.status]
	}
	return fmt.Sprintf("%s, waiting %d, booked %s of %s, %d orders, %d allocations of %s, "+
		"executed at %s, reason %q", status, v.waiting, value.USD(v.reward.booked), value.USD(v.amount),
		len(v.parts), v.allocations, v.shares.Shares(), value.Time(v.executedAt), v.reason)
}

func statusForward(v *rewardView) (found, expected string) {
	untouched := len(v.parts) == 0 && v.allocations == 0 && v.reward.booked == 0
	return judge(
		v.describe,
		must{v.stored == recorded || v.stored == executed || v.stored == failed, "a status of 1, 3 or 4"},
		must{v.status != recorded || v.waiting == 1, "waiting while recorded"},
		must{v.status != recorded || untouched, "no trace of an order while recorded"},
		must{v.status < executed || v.waiting == 0, "not waiting when final"},
		must{v.status == recorded || v.status == failed || len(v.parts) > 0, "an order that carried it"},
	)
}

func executedComplete(v *rewardView) (found, expected string) {
	is := v.status == executed
	return judge(
		v.describe,
		must{is == (v.executedAt != 0), "a time of execution exactly when executed"},
		must{!is || v.reward.booked == v.amount, "all of its amount booked"},
		must{!is || v.booked.Is(v.amount), "allocations of its whole amount"},
		must{!is || v.shares.Sign() > 0, "allocations of more than 0 shares"},
		must{!is || v.reason == "", "no failure reason"},
	)
}

func failedNothingBought(v *rewardView) (found, expected string) {
	is := v.status == failed
	dust := is && strings.HasPrefix(v.reason, "amount_too_small:")
	plain := is && !dust
	lastRefused := len(v.parts) == 0 || v.parts[len(v.parts)-1].state == value.Refused
	return judge(
		v.describe,
		must{is == (v.reason != ""), "a failure reason exactly when failed"},
		must{!is || v.shares.Sign() == 0, "no shares"},
		must{!is || v.liveParts() == 0, "no order that is not final"},
		must{!dust || v.reward.booked == v.amount, "all of its amount booked, for no shares"},
		must{!plain || v.reward.booked == 0, "nothing booked"},
		must{!plain || v.allocations == 0, "no allocation"},
		must{!plain || lastRefused, "a refused last order"},
		must{
			!plain || (len(v.parts) == 0) == strings.HasPrefix(v.reason, "canceled:"),
			"a refused order, or the code canceled without an order",
		},
		must{is || !v.wasRefused(), "failed, as its order was refused"},
	)
}

// liveParts counts the orders of the reward that are not final.
func (v *rewardView) liveParts() int64 {
	var n int64
	for i := range v.parts {
		if v.parts[i].live() {
			n++
		}
	}
	return n
}

// wasRefused reports whether an order that carried all of the reward was refused.
func (v *rewardView) wasRefused() bool {
	for i := range v.parts {
		if v.parts[i].state == value.Refused && !v.boughtBefore(i) {
			return true
		}
	}
	return false
}

// boughtBefore reports whether an order before that of the part i bought something for the reward.
func (v *rewardView) boughtBefore(i int) bool {
	return slices.ContainsFunc(v.parts[:i], func(p part) bool { return p.allocated() })
}

func openFields(v *rewardView) (found, expected string) {
	open := v.status <= executing
	return judge(
		v.describe,
		must{!open || v.executedAt == 0, "no time of execution yet"},
		must{!open || v.reason == "", "no failure reason yet"},
	)
}

func rewardAsset(v *rewardView) (found, expected string) {
	if !v.assets[v.asset] {
		return value.Asset(v.asset), "an asset of the catalog"
	}
	if v.symbol == "" {
		return "no symbol", "the symbol of the request"
	}
	for i := range v.parts {
		if p := &v.parts[i]; p.state != 0 && p.asset != v.asset {
			return value.Asset(p.asset) + " of order " + value.UUID(p.order), "the reward's, " + value.Int(v.asset)
		}
	}
	return "", ""
}

func amountRange(v *rewardView) (found, expected string) {
	const maxAmount = 1_000_000 * value.Dollar
	if v.amount <= 0 || v.amount > maxAmount {
		return value.USD(v.amount), "more than $0, at most " + value.USD(maxAmount)
	}
	return "", ""
}

func oneLiveOrder(v *rewardView) (found, expected string) {
	live := v.liveParts()
	return judge(
		func() string { return value.Int(live) + " orders that are not final; " + v.describe() },
		must{v.waiting == 0 || v.waiting == 1, "waiting 0 or 1"},
		must{v.status != executing || live+v.waiting == 1, "one, or waiting, while executing"},
		must{v.status == executing || live == 0, "no live order unless executing"},
	)
}

func partsSum(v *rewardView) (found, expected string) {
	if !v.booked.Is(v.reward.booked) {
		return "booked " + value.USD(v.reward.booked), v.booked.USD() + ", the sum of its allocations"
	}
	return judge(
		v.describe,
		must{v.reward.booked >= 0 && v.reward.booked <= v.amount, "between 0 and its amount"},
		must{v.status != executing || v.reward.booked < v.amount, "less than its amount while executing"},
	)
}

// carriedRest checks what each order carried, in order of arrival.
func carriedRest(v *rewardView) (found, expected string) {
	left := value.SumOf(v.amount)
	for i := range v.parts {
		p := &v.parts[i]
		if !left.Is(p.amount) {
			return value.USD(p.amount) + " carried by order " + value.UUID(p.order),
				left.USD() + ", the rest of the amount"
		}
		left = left.Minus(value.SumOf(p.bought))
	}
	return "", ""
}

func childAfterParent(v *rewardView) (found, expected string) {
	for i := range max(len(v.parts)-1, 0) {
		p := &v.parts[i]
		if p.state != value.Settled && (p.state != value.Refused || !v.boughtBefore(i)) {
			return "order " + value.UUID(p.order) + " " + value.OrderState(p.state), "settled before the next one"
		}
	}
	return "", ""
}

func rewardTimes(v *rewardView) (found, expected string) {
	if v.status != executed || v.executedAt == 0 {
		return "", ""
	}
	created := value.Created(v.id)
	if v.executedAt < created {
		return "executed at " + value.Time(v.executedAt), "not before it was recorded, " + value.Time(created)
	}
	if len(v.parts) == 0 || v.parts[len(v.parts)-1].filledAt == 0 {
		return "", "" // the broker gave no time
	}
	if at := max(v.parts[len(v.parts)-1].filledAt, created); v.executedAt != at {
		return "executed at " + value.Time(v.executedAt), value.Time(at) + ", when its last order was filled"
	}
	return "", ""
}
