package rewards_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// A trade is in the units of its time; its price counts in those of the store.
func TestPricesInUnits(t *testing.T) {
	t.Parallel()
	const dollar = money.Price(money.Share)
	boundary := time.Date(2026, 12, 3, 1, 0, 0, 0, time.UTC)
	before, since, after := boundary, boundary.Add(time.Microsecond), boundary.Add(24*time.Hour) // at 20:00 sharp is before
	split := rewards.Units{From: boundary, Ratio: rewards.Ratio{Old: 1, New: 4}}
	unknown := rewards.Units{From: boundary}
	pending := func(u rewards.Units) rewards.Asset { return rewards.Asset{Hold: rewards.ActionHold{Units: u}} }
	applied := func(u rewards.Units) rewards.Asset { return rewards.Asset{Units: u} }
	both := rewards.Asset{
		Units: rewards.Units{From: boundary, Ratio: rewards.Ratio{Old: 1, New: 2}}, Hold: rewards.ActionHold{Units: split},
	}
	for _, c := range []struct {
		name         string
		asset        rewards.Asset
		at           time.Time
		price, close money.Price
		// in the asset's units; want 0: not known
		want, earlier, later money.Price
	}{
		{"no action", rewards.Asset{}, before, 200, 199, 200, 0, 0},
		{"pending, traded before", pending(split), before, 200, 199, 200, 0, 0},
		{"pending, traded since", pending(split), since, 50, 199, 200, 0, 4 * 199},
		{"pending, no previous close", pending(split), since, 50, 0, 200, 0, 0},
		{"pending without a ratio, traded before", pending(unknown), before, 200, 199, 200, 0, 0},
		{"pending without a ratio, traded since", pending(unknown), since, 50, 199, 0, 0, 0},
		{"applied, halted since before", applied(split), before, 200, 196, 50, 49, 0},
		{"applied, traded since", applied(split), since, 50, 200, 50, 50, 0},
		{"applied, the next day", applied(split), after, 51, 50, 51, 12, 0}, // the earlier close is out of use
		{"applied for long", applied(split), boundary.Add(5 * 24 * time.Hour), 51, 50, 51, 0, 0},
		{"applied without a ratio, halted since before", applied(unknown), before, 200, 199, 0, 0, 0},
		{"applied without a ratio, traded since", applied(unknown), since, 50, 200, 50, 0, 0},
		{"one applied and one pending, halted since before", both, before, 240, 240, 120, 120, 0},
		{"one applied and one pending, traded since", both, since, 30, 240, 120, 120, 4 * 240},
	} {
		got, known := rewards.BrokerPrice{Price: c.price * dollar, PreviousClose: c.close * dollar, TradedAt: c.at}.InUnitsOf(c.asset)
		if known != (c.want != 0) || got.Price != c.want*dollar || got.EarlierClose/dollar != c.earlier ||
			got.LaterClose/dollar != c.later {
			t.Errorf("%s: known %t, %+v; want %s", c.name, known, got, c.want*dollar)
		}
	}
}

// A quote taken before its stock's pending units were known, from a trade in them, is dropped.
func TestForeignQuotes(t *testing.T) {
	t.Parallel()
	boundary := time.Date(2026, 12, 3, 1, 0, 0, 0, time.UTC)
	since := boundary.Add(time.Microsecond)
	split := rewards.Units{From: boundary, Ratio: rewards.Ratio{Old: 1, New: 4}}
	held, none := rewards.Units{From: boundary}, rewards.Units{}
	for _, c := range []struct {
		name          string
		traded        time.Time
		before, after rewards.Units
		want          bool
	}{
		{"announced, traded before", boundary, none, split, false},
		{"announced, traded since", since, none, split, true},
		{"known", since, split, split, false},
		{"held, so that the ratio is in doubt", since, split, held, true},
		{"decided", since, held, split, true},
		{"over", since, split, none, false},
	} {
		if got := (rewards.Quote{TradedAt: c.traded, Pending: c.before}).Foreign(c.after); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

// The broker's previous close may be in the units before or after an action.
func TestThePreviousCloseInEitherUnits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 3, 15, 0, 0, 0, time.UTC)
	q := rewards.Quote{AssetID: 7, Price: 50, TradedAt: now.Add(-time.Minute), ConfirmedAt: now.Add(-time.Minute)}
	for _, c := range []struct {
		name                  string
		close, earlier, later money.Price
		want                  rewards.PriceVerdict
	}{
		{"in the new units", 50, 12, 0, rewards.PriceAccepted},
		{"in the old units", 200, 50, 0, rewards.PriceAccepted},
		{"in the units before an earlier change", 100, 50, 300, rewards.PriceAccepted},
		{"in the pending units", 17, 8, 51, rewards.PriceAccepted},
		{"in neither", 400, 100, 0, rewards.PriceInDoubt},
		{"in none of three", 400, 100, 1200, rewards.PriceInDoubt},
	} {
		s := rewards.BrokerPrice{Price: 52, PreviousClose: c.close, EarlierClose: c.earlier, LaterClose: c.later, TradedAt: now}
		got, verdict := q.Update(s, now, now)
		want := q
		if want.ConfirmedAt = now; verdict == rewards.PriceAccepted {
			want.Price, want.TradedAt = 52, now
		} else {
			want = q
		}
		if diff := cmp.Diff(want, got); diff != "" || verdict != c.want {
			t.Errorf("%s: verdict %d, want %d (-want +got):\n%s", c.name, verdict, c.want, diff)
		}
	}
}
