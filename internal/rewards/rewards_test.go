package rewards_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// check fails a test on an error.
func check(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func testIDs(now time.Time) *rewards.IDs {
	return rewards.NewIDs(func() time.Time { return now }, rand.Reader)
}

func TestIDsAreOfVersion7AndGrow(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_790_000_000_123).UTC()
	ids := rewards.NewIDs(func() time.Time { now = now.Add(-time.Millisecond); return now }, rand.Reader)
	ids.StartAfter(now)
	last := rewards.UserID{}
	for range 10_000 { // more than one millisecond has room for, with a clock that runs backwards
		id := rewards.NewID[rewards.User](ids)
		if bytes.Compare(id[:], last[:]) <= 0 {
			t.Fatalf("%s follows %s", id, last)
		}
		last = id
	}
	parsed, err := uuid.Parse(last.String())
	if err != nil || parsed.Version() != 7 || parsed.Variant() != uuid.RFC4122 {
		t.Errorf("%s: version %d, %v", last, parsed.Version(), err)
	}
	first := rewards.NewID[rewards.User](testIDs(now))
	if !first.Time().Equal(now.Truncate(time.Millisecond)) {
		t.Errorf("created at %s, want %s", first.Time(), now)
	}
}

func TestParseID(t *testing.T) {
	t.Parallel()
	const text = "01a1fdd5-d333-7002-beec-37904b6395ab"
	for _, given := range []string{text, strings.ToUpper(text)} {
		if id, err := rewards.ParseID[rewards.User](given); err != nil || id.String() != text {
			t.Errorf("%s: %s, %v", given, id, err)
		}
	}
	for _, bad := range []string{
		"", "x", "{" + text + "}", "urn:uuid:" + text, strings.ReplaceAll(text, "-", ""), text + "0",
		strings.Replace(text, "d", "g", 1), strings.Replace(text, "-", "_", 1), " " + text[1:],
	} {
		if id, err := rewards.ParseID[rewards.User](bad); err == nil {
			t.Errorf("%q was read as %s", bad, id)
		}
	}
}

func TestWellFormedKeys(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^sr_test_[0-9A-Za-z]{49}$`)
	key, err := rewards.NewKeySecret(rewards.TestKeyPrefix, rand.Reader)
	check(t, err)
	if !form.MatchString(key) || !rewards.WellFormedKey(key) {
		t.Errorf("key %s", key)
	}
	for i := range key { // a single wrong character is found without a query
		wrong := []byte(key)
		if wrong[i] = 'x'; key[i] == 'x' {
			wrong[i] = 'y'
		}
		if rewards.WellFormedKey(string(wrong)) {
			t.Errorf("%s is well formed", wrong)
		}
	}
	for _, bad := range []string{"", "sr_test_", key + "0", key[1:], strings.Replace(key, "test", "live", 1)} {
		if rewards.WellFormedKey(bad) {
			t.Errorf("%q is well formed", bad)
		}
	}
	small, err := rewards.NewKeySecret(rewards.LiveKeyPrefix, bytes.NewReader(make([]byte, 32)))
	if err != nil || !rewards.WellFormedKey(small) {
		t.Errorf("key %s, %v", small, err)
	}
}

func TestKeyValidity(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_790_000_000, 0)
	for name, test := range map[string]struct {
		key  rewards.Key
		want bool
	}{
		"fresh":        {rewards.Key{}, true},
		"expires":      {rewards.Key{ExpiresAt: now.Add(1)}, true},
		"expired":      {rewards.Key{ExpiresAt: now}, false},
		"revoked":      {rewards.Key{RevokedAt: now}, false},
		"revoked past": {rewards.Key{RevokedAt: now.Add(-1), ExpiresAt: now.Add(1)}, false},
	} {
		if got := test.key.ValidAt(now); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestFingerprintsDistinguishRequests(t *testing.T) {
	t.Parallel()
	base := rewards.NewReward{UserID: rewards.UserID{1}, IdempotencyKey: "K", Amount: 5, Symbol: "AB", Source: "C"}
	seen := map[rewards.Fingerprint]string{rewards.NewFingerprint(base, "{}"): "base"}
	for name, change := range map[string]func(*rewards.NewReward) string{
		"user":       func(r *rewards.NewReward) string { r.UserID[0] = 2; return "{}" },
		"amount":     func(r *rewards.NewReward) string { r.Amount = 6; return "{}" },
		"symbol":     func(r *rewards.NewReward) string { r.Symbol = "A"; return "{}" },
		"boundaries": func(r *rewards.NewReward) string { r.Symbol, r.Source = "ABC", ""; return "{}" },
		"source":     func(r *rewards.NewReward) string { r.Source = ""; return "{}" },
		"metadata":   func(*rewards.NewReward) string { return "{}}" },
		"app":        func(r *rewards.NewReward) string { r.AppID[0] = 7; return "{}" },
		"key":        func(r *rewards.NewReward) string { r.IdempotencyKey = "other"; return "{}" },
		"key's end":  func(r *rewards.NewReward) string { r.IdempotencyKey = "KA"; r.Symbol = "B"; return "{}" },
	} {
		r := base
		metadata := change(&r)
		f := rewards.NewFingerprint(r, metadata)
		if other, ok := seen[f]; ok {
			t.Errorf("%s has the fingerprint of %s", name, other)
		}
		seen[f] = name
	}
	same := base
	same.AssetID = 9
	if rewards.NewFingerprint(same, "{}") != rewards.NewFingerprint(base, "{}") {
		t.Error("the fingerprint depends on more than the request")
	}
	base.Canonical, base.Fingerprint = "{}", rewards.NewFingerprint(base, "{}")
	older, another, earlier := base.FingerprintV1(), base, base.Fingerprint
	earlier[0], earlier[32] = 2, 7 // version 2 has more of the hash
	another.Amount = 6
	another.Fingerprint = rewards.NewFingerprint(another, "{}")
	if older[0] != 1 || !base.Matches(older) || !base.Matches(base.Fingerprint) || !base.Matches(earlier) ||
		another.Matches(older) || another.Matches(base.Fingerprint) || another.Matches(earlier) {
		t.Error("a request does not match exactly its own fingerprints of all versions")
	}
}

// Stored hashes never change: another computation needs another version.
func TestSealsAreStable(t *testing.T) {
	t.Parallel()
	r := rewards.NewReward{
		AppID: rewards.AppID{9}, UserID: rewards.UserID{1}, IdempotencyKey: "key-0001", Amount: 5_250_000, Symbol: "AAPL",
		Source: "signup", Canonical: `{"a":1}`,
	}
	u := rewards.User{AppID: rewards.AppID{9}, ID: rewards.UserID{1}, Email: "ann@example.com", ExternalID: "é"}
	stored := rewards.NewFingerprint(r, r.Canonical)
	for what, pair := range map[string][2]string{
		"fingerprint": {fmt.Sprintf("%x", stored.Stored()), "03b451f4022a0847fb33101fa3a16db10d"},
		"version 1":   {fmt.Sprintf("%x", r.FingerprintV1()), "01d6403d41070569c0d208fa1eec63add6563bb24b86da096fe88cb62c8efbe613"},
		"log's head":  {aLog()[2].Head().String(), "3:01c619efda157dcc18ec79a9457113242015a3ad5fa886ebe8dfb6ec6dc9a82066"},
		"user's seal": {fmt.Sprintf("%x", u.Seal()), "0155a8f584a3cdba0b0352c2099fbb7ebf"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %s, want %s", what, pair[0], pair[1])
		}
	}
	for what, other := range map[string]rewards.User{
		"app":         {AppID: rewards.AppID{8}, ID: u.ID, Email: u.Email, ExternalID: u.ExternalID},
		"id":          {AppID: u.AppID, Email: u.Email, ExternalID: u.ExternalID},
		"email":       {AppID: u.AppID, ID: u.ID, Email: "Ann@example.com", ExternalID: u.ExternalID},
		"external id": {AppID: u.AppID, ID: u.ID, Email: u.Email},
		"boundary":    {AppID: u.AppID, ID: u.ID, Email: u.Email + u.ExternalID},
	} {
		if other.Seal() == u.Seal() {
			t.Errorf("another %s has the same seal", what)
		}
	}
}

func TestPlausible(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		price      money.Price
		references []money.Price
		want       bool
	}{
		{100, nil, true},
		{100, []money.Price{0, 0}, true},
		{140, []money.Price{100}, true},
		{141, []money.Price{100}, false},
		{60, []money.Price{100}, true},
		{59, []money.Price{100}, false},
		{59, []money.Price{100, 50}, true},
		{185_100_000_000, []money.Price{620_000_000_000_000}, false},
	} {
		if got := rewards.Plausible(test.price, test.references...); got != test.want {
			t.Errorf("%d near %v: %t", test.price, test.references, got)
		}
	}
}

// prices is a table of usable prices.
type prices map[rewards.AssetID]money.Price

// Price implements rewards.Prices.
func (p prices) Price(id rewards.AssetID, _ int64) (money.Price, bool) {
	price, usable := p[id]
	return price, usable
}

// Generation implements rewards.Prices: no units change.
func (prices) Generation(rewards.AssetID) int64 { return 0 }

// Reload implements rewards.Prices.
func (prices) Reload(context.Context) error { return nil }

// Specification, section 2.3: values and costs add up, sorted by symbol.
func TestValueAddsUp(t *testing.T) {
	t.Parallel()
	holdings := []rewards.Holding{
		{AssetID: 1, Quantity: 1_000_000_000, CostBasis: 0},
		{AssetID: 2, Quantity: 20_956_410, CostBasis: 5_250_000},
	}
	symbols := map[rewards.AssetID]string{1: "KO", 2: "AAPL", 3: "ACME"}
	usable := prices{1: 70_000_000_001, 2: 250_520_000_000}
	got, err := rewards.Value(holdings, symbols, usable)
	check(t, err)
	want := rewards.Portfolio{
		Value: 75_250_000, CostBasis: 5_250_000, Change: "+1333.33%",
		Holdings: []rewards.ValuedHolding{
			{Holding: holdings[1], Symbol: "AAPL", Price: usable[2], Value: 5_250_000, Change: "+0.00%"},
			{Holding: holdings[0], Symbol: "KO", Price: usable[1], Value: 70_000_000},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("portfolio (-want +got):\n%s", diff)
	}
	large := rewards.Holding{AssetID: 1, Quantity: 7e18, CostBasis: 1e12}
	cheap := rewards.Holding{AssetID: 1, Quantity: 7e18, CostBasis: 1}
	free, few := rewards.Holding{AssetID: 1, Quantity: 7e18}, rewards.Holding{AssetID: 1, Quantity: 1, CostBasis: 1}
	for what, list := range map[string][]rewards.Holding{"value": {large}, "sum": {large, large}, "change": {cheap}, "total change": {free, few}} {
		price := money.Price(1e12)
		if what == "value" {
			price = 2e15
		}
		if _, err := rewards.Value(list, symbols, prices{1: price}); rewards.CodeOf(err) != rewards.CodeUpstream {
			t.Errorf("a %s that is too large: %v", what, err)
		}
	}
	delete(usable, 1)
	if _, err := rewards.Value(holdings, symbols, usable); rewards.CodeOf(err) != rewards.CodeUpstream {
		t.Errorf("got %v, want no usable price", err)
	}
	empty, err := rewards.Value(nil, symbols, usable)
	if err != nil || empty.Change != "" || empty.Value != 0 || empty.Holdings == nil {
		t.Errorf("empty portfolio %+v, %v", empty, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		var list []rewards.Holding
		var value, cost money.USD
		for range rapid.IntRange(1, 20).Draw(t, "holdings") {
			h := rewards.Holding{
				AssetID: 1, Quantity: money.Shares(rapid.Int64Range(1, 1<<50).Draw(t, "quantity")),
				CostBasis: money.USD(rapid.Int64Range(0, 1<<50).Draw(t, "cost")),
			}
			list, cost = append(list, h), cost+h.CostBasis
		}
		p, err := rewards.Value(list, symbols, prices{1: 123_456_789_012})
		check(t, err)
		for _, h := range p.Holdings {
			value += h.Value
		}
		if p.Value != value || p.CostBasis != cost {
			t.Fatalf("%s and %s, want %s and %s", p.Value, p.CostBasis, value, cost)
		}
	})
}
