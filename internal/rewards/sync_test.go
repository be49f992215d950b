package rewards_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stockrewards/internal/rewards"
)

// stock returns an entry of the broker's list; without names its flags that are off.
func stock(id, symbol string, without ...string) rewards.BrokerAsset {
	has := func(flag string) bool { return !slices.Contains(without, flag) }
	return rewards.BrokerAsset{
		ID: id, Symbol: symbol, Name: symbol + " Inc.", Exchange: "NYSE",
		Active: has("active"), Tradable: has("tradable"), Fractionable: has("fractionable"),
	}
}

// held returns an asset of the catalog; flags may be "off" and "gone".
func held(number int, id, symbol string, flags ...string) rewards.Asset {
	return rewards.Asset{
		ID: rewards.AssetID(number), BrokerID: id, Symbol: symbol, Name: symbol + " Inc.",
		Enabled: !slices.Contains(flags, "off"), Gone: slices.Contains(flags, "gone"),
	}
}

// changes returns the changes as lines: "1 A->B renamed".
func changes(s rewards.AssetSync) string {
	var lines []string
	for _, c := range s.Changes {
		line := fmt.Sprintf("%d %s->%s", c.Before.ID, c.Before.Symbol, c.After.Symbol)
		for _, kind := range []struct {
			is   bool
			name string
		}{
			{c.Added(), "added"},
			{c.Renamed(), "renamed"},
			{c.NewName(), "named"},
			{c.Linked(), "linked"},
			{c.Disabled(), "disabled"},
			{c.Returned(), "returned"},
		} {
			if kind.is {
				line += " " + kind.name
			}
		}
		if !c.After.Giftable() {
			line += " (no gift)"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestSyncAssets(t *testing.T) {
	t.Parallel()
	only := func(symbols ...string) rewards.SyncFilter { return rewards.SyncFilter{Symbols: symbols} }
	at := func(exchange string) rewards.SyncFilter { return rewards.SyncFilter{Exchanges: []string{exchange}} }
	abroad := func(b rewards.BrokerAsset) rewards.BrokerAsset { b.Exchange = "OTHER"; return b }
	type ours = []rewards.Asset
	type theirs = []rewards.BrokerAsset
	none := rewards.SyncFilter{}
	for what, test := range map[string]struct {
		ours   ours
		theirs theirs
		filter rewards.SyncFilter
		want   string
	}{
		"the first sync": {
			ours{held(1, "", "A"), held(2, "", "B")},
			theirs{stock("a", "A"), stock("b", "B", "fractionable"), stock("c", "C"), stock("d", "D", "tradable")},
			none,
			"1 A->A linked\n2 B->B linked disabled (no gift)\n0 ->C added",
		},
		"nothing new":     {ours{held(1, "a", "A")}, theirs{stock("a", "A")}, none, ""},
		"gone":            {ours{held(1, "a", "A")}, theirs{stock("b", "B", "active")}, none, "1 A->A disabled (no gift)"},
		"gone for long":   {ours{held(1, "a", "A", "gone")}, theirs{stock("b", "B", "active")}, none, ""},
		"not active":      {ours{held(1, "a", "A")}, theirs{stock("a", "A", "active")}, none, "1 A->A disabled (no gift)"},
		"back":            {ours{held(1, "a", "A", "gone")}, theirs{stock("a", "A")}, none, "1 A->A returned"},
		"back, but off":   {ours{held(1, "a", "A", "gone", "off")}, theirs{stock("a", "A")}, none, "1 A->A returned (no gift)"},
		"off stays off":   {ours{held(1, "a", "A", "off")}, theirs{stock("a", "A")}, none, ""},
		"off and renamed": {ours{held(1, "a", "A", "off")}, theirs{stock("a", "B")}, none, "1 A->B renamed named (no gift)"},
		"a swap": {
			ours{held(1, "a", "A"), held(2, "b", "B")}, theirs{stock("a", "B"), stock("b", "A")}, none, "1 A->B renamed named\n2 B->A renamed named",
		},
		"a chain and a new one at its end": {
			ours{held(1, "a", "A"), held(2, "b", "B")},
			theirs{stock("a", "B"), stock("b", "C"), stock("n", "A")},
			none,
			"1 A->B renamed named\n2 B->C renamed named\n0 ->A added",
		},
		"a symbol used again": {
			ours{held(1, "a", "A"), held(2, "b", "A.OLD", "gone")},
			theirs{stock("n", "A")},
			none,
			"1 A->A.OLD2 renamed disabled (no gift)\n0 ->A added",
		},
		"a symbol used again by a stock that is not sold": {
			ours{held(1, "a", "A")}, theirs{stock("n", "A", "tradable")}, none, "1 A->A.OLD renamed disabled (no gift)",
		},
		"a symbol used again, long": {
			ours{held(1, "a", "ABCDEFGHIJKLMNOP")},
			theirs{stock("n", "ABCDEFGHIJKLMNOP")},
			none,
			"1 ABCDEFGHIJKLMNOP->ABCDEFGHIJKL.OLD renamed disabled (no gift)\n0 ->ABCDEFGHIJKLMNOP added",
		},
		"a symbol taken by a renamed asset": {
			ours{held(1, "", "A"), held(2, "b", "B")}, theirs{stock("b", "A")}, none, "1 A->A.OLD renamed disabled (no gift)\n2 B->A renamed named",
		},
		"displaced, then listed under another symbol": {
			ours{held(1, "a", "A.OLD", "gone"), held(2, "n", "A")},
			theirs{stock("a", "X"), stock("n", "A")},
			none,
			"1 A.OLD->X renamed named returned",
		},
		"a filter of symbols": {
			ours{held(1, "a", "A"), held(2, "b", "B")},
			theirs{stock("c", "C"), stock("d", "D")},
			only("A", "D"),
			"1 A->A disabled (no gift)\n0 ->D added",
		},
		"a filter by the new symbol": {ours{held(1, "a", "A")}, theirs{stock("a", "B")}, only("B"), "1 A->B renamed named"},
		"a filter of exchanges": {
			ours{held(1, "a", "A"), held(2, "b", "B"), held(3, "c", "C")},
			theirs{stock("a", "A", "tradable"), abroad(stock("b", "B", "tradable")), stock("n", "N"), abroad(stock("m", "M"))},
			at("NYSE"),
			"1 A->A disabled (no gift)\n0 ->N added",
		},
		"assets whose symbol a filtered one gets": {
			ours{held(1, "a", "A"), held(2, "b", "B"), held(3, "c", "C")},
			theirs{stock("a", "B"), stock("b", "C"), stock("c", "D")},
			only("A"),
			"1 A->B renamed named\n2 B->C renamed named\n3 C->D renamed named",
		},
		"the holder of an added symbol": {
			ours{held(1, "a", "A")}, theirs{stock("n", "A")}, at("NYSE"), "1 A->A.OLD renamed disabled (no gift)\n0 ->A added",
		},
		"a symbol used again, by two": {ours{held(1, "a", "A")}, theirs{stock("x", "A"), stock("y", "A")}, none, "1 A->A.OLD renamed disabled (no gift)"},
		"an entry without an id":      {ours{held(1, "", "A")}, theirs{stock("", "E"), stock("b", "B", "active")}, none, "1 A->A disabled (no gift)"},
		"a symbol listed twice":       {ours{held(1, "a", "A"), held(2, "", "B")}, theirs{stock("a", "A"), stock("x", "A"), stock("y", "B"), stock("z", "B")}, none, ""},
		"listed twice, and its symbol is another's, not sold": {
			ours{held(1, "a", "A"), held(2, "b", "B")},
			theirs{stock("a", "A"), stock("b", "A"), stock("c", "B", "tradable")},
			none,
			"2 B->B.OLD renamed disabled (no gift)",
		},
		"an id listed twice": {ours{held(1, "a", "A")}, theirs{stock("a", "A"), stock("a", "B")}, none, ""},
		"an invalid symbol":  {ours{held(1, "a", "A")}, theirs{stock("a", "A,B"), stock("b", "b"), stock("c", ""), stock("d", "ABCDEFGHIJKLMNOPQ"), stock("", "E")}, none, ""},
		"an invalid id":      {ours{}, theirs{stock("a\x00b", "A"), stock(strings.Repeat("x", 65), "B"), stock("c", "C")}, none, "0 ->C added"},
	} {
		if diff := cmp.Diff(test.want, changes(rewards.SyncAssets(test.ours, test.theirs, test.filter))); diff != "" {
			t.Errorf("%s: changes (-want +got):\n%s", what, diff)
		}
	}
}

func TestSyncReportsWhatItSkips(t *testing.T) {
	t.Parallel()
	s := rewards.SyncAssets(
		[]rewards.Asset{held(1, "a", "A")},
		[]rewards.BrokerAsset{stock("a", "A"), stock("b", "B", "fractionable"), stock("x", "X"), stock("y", "X"), stock("l", "low")},
		rewards.SyncFilter{Symbols: []string{"A", "B", "APPL"}},
	)
	want := []rewards.SkippedAsset{
		{"x", "X", "the list has it twice"},
		{"y", "X", "the list has it twice"},
		{"l", "low", "the symbol is invalid"},
		{"b", "B", "it is not fractionable"},
		{"", "APPL", "the broker does not list it"},
	}
	if diff := cmp.Diff(want, s.Skipped); diff != "" || s.Unchanged != 1 {
		t.Errorf("%d unchanged, skipped (-want +got):\n%s", s.Unchanged, diff)
	}
}

func TestNamesAreCleaned(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"  Plain  Inc. ":                     "Plain Inc.",
		"Evil\x1b[2J\r\nInc\x00\u202e.\xff":  "Evil [2J Inc .",
		"日本 É":                               "日本 É",
		strings.Repeat("é", 300):             strings.Repeat("é", 200),
		strings.Repeat("é", 199) + " second": strings.Repeat("é", 199),
		"\x01\x02":                           "A Inc.", // empty after cleaning: the name stays
	} {
		b := stock("a", "A")
		b.Name = name
		after := held(1, "a", "A")
		for _, c := range rewards.SyncAssets([]rewards.Asset{after}, []rewards.BrokerAsset{b}, rewards.SyncFilter{}).Changes {
			after = c.After
		}
		if after.Name != want {
			t.Errorf("%q became %q, want %q", name, after.Name, want)
		}
	}
}

func TestSyncBrake(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		have, off, lost, listed int
		alarms                  bool
	}{
		{100, 0, 0, 0, true}, {0, 0, 0, 0, true}, // an empty list
		{100, 0, 10, 90, false}, {100, 0, 11, 89, true}, // a tenth
		{6, 0, 5, 1, false}, {6, 0, 6, 1, true}, // five
		{100, 90, 11, 89, false}, // a disabled asset is not lost
	} {
		var ours []rewards.Asset
		var theirs []rewards.BrokerAsset
		for i := range test.have {
			a := held(i+1, fmt.Sprint("id", i), fmt.Sprint("S", i))
			a.Enabled = i >= test.off
			ours = append(ours, a)
			if i >= test.lost && test.listed > 0 {
				theirs = append(theirs, stock(a.BrokerID, a.Symbol))
			}
		}
		if test.listed > 0 && len(theirs) == 0 {
			theirs = append(theirs, stock("new", "NEW"))
		}
		why := rewards.SyncAssets(ours, theirs, rewards.SyncFilter{}).Implausible()
		if (why != "") != test.alarms {
			t.Errorf("%+v: %q", test, why)
		}
	}
}

// apply applies a sync as the store does.
func apply(ours []rewards.Asset, s rewards.AssetSync) []rewards.Asset {
	next, byID := rewards.AssetID(1), make(map[rewards.AssetID]rewards.Asset)
	for _, a := range ours {
		byID[a.ID], next = a, max(next, a.ID+1)
	}
	for _, c := range s.Changes {
		a := c.After
		if c.Added() {
			a.ID = next
			next++
		}
		byID[a.ID] = a
	}
	return slices.Collect(maps.Values(byID))
}

// For any list and filter: no two assets share a symbol or an identifier, no asset changes
// its identity or the operator's decision, exactly the validly listed stocks are giftable,
// and the same sync again changes nothing.
func TestSyncProperties(t *testing.T) {
	t.Parallel()
	symbols := rapid.SampledFrom([]string{"A", "B", "C", "D", "A.OLD", "A.OLD2", "e"})
	ids := rapid.SampledFrom([]string{"1", "2", "3", "4", "5", ""})
	rapid.Check(t, func(t *rapid.T) {
		var ours []rewards.Asset
		used := map[string]bool{}
		for i, symbol := range rapid.SliceOfNDistinct(symbols, 0, 6, rapid.ID).Draw(t, "ours") {
			a := held(i+1, ids.Draw(t, "id"), symbol)
			if used[a.BrokerID] {
				a.BrokerID = ""
			}
			used[a.BrokerID] = true
			a.Enabled, a.Gone = rapid.Bool().Draw(t, "enabled"), rapid.Bool().Draw(t, "gone")
			ours = append(ours, a)
		}
		theirs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) rewards.BrokerAsset {
			b := stock(ids.Draw(t, "id"), symbols.Draw(t, "symbol"))
			b.Exchange = rapid.SampledFrom([]string{"NYSE", "OTHER"}).Draw(t, "exchange")
			b.Tradable = rapid.Bool().Draw(t, "tradable")
			return b
		}), 0, 6).Draw(t, "theirs")
		f := rewards.SyncFilter{
			Symbols:   rapid.SliceOfN(symbols, 0, 2).Draw(t, "symbols"),
			Exchanges: rapid.SliceOfN(rapid.Just("NYSE"), 0, 1).Draw(t, "exchanges"),
		}
		s := rewards.SyncAssets(ours, theirs, f)
		after := apply(ours, s)
		checkCatalog(t, after, theirs, f)
		for _, c := range s.Changes {
			switch {
			case c.Added() && !c.After.Giftable():
				t.Errorf("%+v is added and not giftable", c.After)
			case c.Added():
			case c.After.Enabled != c.Before.Enabled, c.After.ID != c.Before.ID,
				c.Before.BrokerID != "" && c.After.BrokerID != c.Before.BrokerID:
				t.Errorf("%+v became %+v", c.Before, c.After)
			}
		}
		if again := rewards.SyncAssets(after, theirs, f); len(again.Changes) > 0 {
			t.Errorf("the same sync again changes:\n%s", changes(again))
		}
	})
}

// checkCatalog checks a catalog after a sync.
func checkCatalog(t *rapid.T, after []rewards.Asset, theirs []rewards.BrokerAsset, f rewards.SyncFilter) {
	names, seen := map[string]int{}, map[string]int{}
	for _, b := range theirs {
		seen[b.ID]++
		names[b.Symbol]++
	}
	bySymbol, byID := map[string]rewards.Asset{}, map[string]rewards.Asset{}
	for _, a := range after {
		if other, twice := bySymbol[a.Symbol]; twice {
			t.Errorf("%+v and %+v have one symbol", a, other)
		}
		if other, twice := byID[a.BrokerID]; twice && a.BrokerID != "" {
			t.Errorf("%+v and %+v have one identifier", a, other)
		}
		bySymbol[a.Symbol], byID[a.BrokerID] = a, a
	}
	for _, b := range theirs {
		if seen[b.ID] > 1 || names[b.Symbol] > 1 || b.ID == "" || b.Symbol == "e" {
			continue
		}
		a, have := byID[b.ID]
		free := len(f.Symbols) == 0 && len(f.Exchanges) == 0
		switch {
		case free && b.Tradable != (have && !a.Gone):
			t.Errorf("%+v is %+v", b, a)
		case free && have && a.Symbol != b.Symbol:
			t.Errorf("%+v has the symbol %s", b, a.Symbol)
		case bySymbol[b.Symbol].Giftable() && bySymbol[b.Symbol].BrokerID != b.ID && free:
			t.Errorf("%s is giftable and is not %+v", b.Symbol, b)
		}
	}
}

// A renamed stock is the same stock to an order and to an operator's decision.
func TestARenamedStockIsTheSameStock(t *testing.T) {
	t.Parallel()
	o := rewards.Order{AssetBrokerID: "a", Symbol: "OLD", State: rewards.OrderQuarantined}
	for _, test := range []struct {
		asset, symbol string
		same          bool
	}{
		{"a", "NEW", true}, {"a", "OLD", true}, {"b", "OLD", false}, {"", "OLD", true}, {"", "NEW", false},
	} {
		b := rewards.BrokerOrder{AssetID: test.asset, Symbol: test.symbol, Side: "buy", Status: "canceled", FilledQty: 5}
		if why := (rewards.Resolution{FilledQty: 5, Price: 1}).ContradictedBy(o, b); (why == "") != test.same {
			t.Errorf("%+v: %q", test, why)
		}
	}
}
