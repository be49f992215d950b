package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

func rewardRules() []rule[*rewardView] {
	return []rule[*rewardView]{
		{checkStatusForward, statusForward},
		{checkExecutedComplete, executedComplete},
		{checkFailedNothingBought, failedNothingBought},
		{checkOpenFields, openFields},
		{checkAssetKnown, rewardAsset},
		{checkAmountRange, amountRange},
		{checkOneLiveOrder, oneLiveOrder},
		{checkPartsSum, partsSum},
		{checkCarriedRest, carriedRest},
		{checkChildAfterParent, childAfterParent},
		{checkRewardTimes, rewardTimes},
	}
}

// fingerprint computes what identified the request from what was stored of it: a
// version, then a hash of the user, the amount and the texts with their lengths. In the
// second version the app and the key come before; the first one may only be of what was
// made before rewards were sealed.
func (a *auditor) fingerprint(v *reward) (found, expected string) {
	const older, version, textLengths, roomForTexts = 1, 2, 4 * 4, 256
	canonical := jsontext.Value(v.metadata)
	if v.metadata != "" {
		err := canonical.Canonicalize(
			jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
		if err != nil || canonical.Kind() != '{' {
			return "metadata that is no JSON object", "a JSON object"
		}
	}
	request, first := make([]byte, 0, 2*idBytes+8+textLengths+roomForTexts), byte(version)
	if strings.HasPrefix(v.fingerprint, string(rune(older))) && a.beforeSeals(v.id) {
		first = older
	} else {
		request = appendText(append(request, v.app...), v.key)
	}
	request = append(request, v.user...)
	request = binary.BigEndian.AppendUint64(request, unsigned(v.amount))
	request = appendText(request, v.symbol)
	request = appendText(request, v.source)
	request = appendText(request, string(canonical))
	sum := sha256.Sum256(request)
	if want := append([]byte{first}, sum[:]...); v.fingerprint != string(want) {
		return "0x" + hex.EncodeToString([]byte(v.fingerprint)), "0x" + hex.EncodeToString(want)
	}
	return "", ""
}

func appendText(b []byte, text string) []byte {
	length := uint32(len(text)) // a stored text is far shorter
	return append(binary.BigEndian.AppendUint32(b, length), text...)
}

// state is the short story of a reward.
func (v *rewardView) state() string {
	names := [...]string{"", "recorded", "executing", "executed", "failed"}
	status := "status " + number(v.status)
	if v.status >= recorded && v.status <= failed {
		status = names[v.status]
	}
	return fmt.Sprintf("%s, waiting %d, booked %s of %s, %d orders, %d allocations of %s, "+
		"executed at %s, reason %q", status, v.waiting, usd(v.reward.booked), usd(v.amount),
		len(v.parts), len(v.allocations), v.shares.shares(), micros(v.executedAt), v.reason)
}

func statusForward(v *rewardView) (found, expected string) {
	untouched := len(v.parts) == 0 && len(v.allocations) == 0 && v.reward.booked == 0
	return judge(
		v.state,
		must{v.status >= recorded && v.status <= failed, "a status from 1 to 4"},
		must{v.status != recorded || v.waiting == 1, "a recorded reward to wait"},
		must{v.status != recorded || untouched, "no trace of an order on a recorded reward"},
		must{v.status < executed || v.waiting == 0, "a final reward not to wait"},
		must{v.status == recorded || v.status == failed || len(v.parts) > 0, "an order that carried it"},
	)
}

func executedComplete(v *rewardView) (found, expected string) {
	is := v.status == executed
	return judge(
		v.state,
		must{is == (v.executedAt != 0), "a time of execution exactly when executed"},
		must{!is || v.reward.booked == v.amount, "all of its amount booked"},
		must{!is || v.booked.is(v.amount), "allocations of its whole amount"},
		must{!is || v.shares.sign() > 0, "allocations of more than 0 shares"},
		must{!is || v.reason == "", "no reason of failure"},
	)
}

func failedNothingBought(v *rewardView) (found, expected string) {
	is := v.status == failed
	dust := is && strings.HasPrefix(v.reason, "amount_too_small:")
	plain := is && !dust
	lastRefused := len(v.parts) == 0 || v.parts[len(v.parts)-1].state == refused
	return judge(
		v.state,
		must{is == (v.reason != ""), "a reason of failure exactly when failed"},
		must{!is || v.shares.sign() == 0, "no shares"},
		must{!is || v.liveParts() == 0, "no order that is not final"},
		must{!dust || v.reward.booked == v.amount, "all of its amount booked, for no shares"},
		must{!plain || v.reward.booked == 0, "nothing booked"},
		must{!plain || len(v.allocations) == 0, "no allocation"},
		must{!plain || lastRefused, "its last order to be refused"},
		must{
			!plain || (len(v.parts) == 0) == strings.HasPrefix(v.reason, "canceled:"),
			"a refused order, or the code canceled and no order",
		},
		must{is || !v.wasRefused(), "a reward of a refused order to be failed"},
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

func (v *rewardView) wasRefused() bool {
	for i := range v.parts {
		if v.parts[i].state == refused {
			return true
		}
	}
	return false
}

func openFields(v *rewardView) (found, expected string) {
	open := v.status <= executing
	return judge(
		v.state,
		must{!open || v.executedAt == 0, "no time of execution yet"},
		must{!open || v.reason == "", "no reason of failure yet"},
	)
}

func rewardAsset(v *rewardView) (found, expected string) {
	if !v.assets[v.asset] {
		return "asset " + number(v.asset), "an asset of the catalog"
	}
	if v.symbol == "" {
		return "no symbol", "the symbol as it was given"
	}
	for i := range v.parts {
		if p := &v.parts[i]; p.state != 0 && p.asset != v.asset {
			return "asset " + number(p.asset) + " of order " + uuid(p.order), "its own, " + number(v.asset)
		}
	}
	return "", ""
}

func amountRange(v *rewardView) (found, expected string) {
	if v.amount <= 0 || v.amount > maxReward {
		return usd(v.amount), "more than $0, at most " + usd(maxReward)
	}
	return "", ""
}

func oneLiveOrder(v *rewardView) (found, expected string) {
	live := v.liveParts()
	return judge(
		func() string { return number(live) + " orders that are not final; " + v.state() },
		must{v.waiting == 0 || v.waiting == 1, "waiting to be 0 or 1"},
		must{v.status != executing || live+v.waiting == 1, "an executing reward in one, or waiting"},
		must{v.status == executing || live == 0, "none of a reward that is not executing"},
	)
}

func partsSum(v *rewardView) (found, expected string) {
	if !v.booked.is(v.reward.booked) {
		return "booked " + usd(v.reward.booked), v.booked.usd() + ", the sum of its allocations"
	}
	return judge(
		v.state,
		must{v.reward.booked >= 0 && v.reward.booked <= v.amount, "between 0 and its amount"},
		must{v.status != executing || v.reward.booked < v.amount, "less than its amount while executing"},
	)
}

// carriedRest follows the reward from order to order.
func carriedRest(v *rewardView) (found, expected string) {
	left, next := wideOf(v.amount), 0
	for i := range v.parts {
		p := &v.parts[i]
		for next < len(v.allocations) && v.allocations[next].order < p.order {
			left = left.minus(wideOf(v.allocations[next].amount))
			next++
		}
		if !left.is(p.amount) {
			return usd(p.amount) + " carried by order " + uuid(p.order), left.usd() + ", what was left"
		}
	}
	return "", ""
}

func childAfterParent(v *rewardView) (found, expected string) {
	for i := range max(len(v.parts)-1, 0) {
		if p := &v.parts[i]; p.state != settled {
			return "order " + uuid(p.order) + " " + stateName(p.state), "settled before the next one"
		}
	}
	return "", ""
}

func rewardTimes(v *rewardView) (found, expected string) {
	if v.status != executed || v.executedAt == 0 {
		return "", ""
	}
	created := createdMillis(v.id) * microsPerMilli
	if v.executedAt < created {
		return "executed at " + micros(v.executedAt), "not before it was recorded, " + micros(created)
	}
	if len(v.parts) == 0 || v.parts[len(v.parts)-1].filledAt == 0 {
		return "", "" // the broker told no time
	}
	if at := max(v.parts[len(v.parts)-1].filledAt, created); v.executedAt != at {
		return "executed at " + micros(v.executedAt), micros(at) + ", when its last order was filled"
	}
	return "", ""
}
