package rewards

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// SyncFilter limits the stocks that a sync adds or changes. An empty list does not limit.
type SyncFilter struct {
	Symbols   []string // upper-case symbols in the catalog or in the broker's list
	Exchanges []string // the broker's names
}

// AssetChange is one asset before and after a sync.
type AssetChange struct {
	Before Asset  // ID is zero for an added asset
	After  Asset  // ID is zero for an added asset
	Why    string // why the broker does not sell it; "" when it does
}

// Added reports whether the asset is new.
func (c AssetChange) Added() bool { return c.Before.ID == 0 }

// Renamed reports whether the symbol changes.
func (c AssetChange) Renamed() bool { return !c.Added() && c.Before.Symbol != c.After.Symbol }

// NewName reports whether the name changes.
func (c AssetChange) NewName() bool { return !c.Added() && c.Before.Name != c.After.Name }

// Linked reports whether the asset gets the broker's identifier.
func (c AssetChange) Linked() bool { return !c.Added() && c.Before.BrokerID != c.After.BrokerID }

// Disabled reports whether the broker stopped selling the asset.
func (c AssetChange) Disabled() bool { return !c.Before.Gone && c.After.Gone }

// Returned reports whether the broker sells the asset again.
func (c AssetChange) Returned() bool { return c.Before.Gone && !c.After.Gone }

// SkippedAsset is an entry of the broker's list that a sync ignores.
type SkippedAsset struct {
	BrokerID string
	Symbol   string
	Reason   string
}

// AssetSync is the outcome of a sync of the catalog with the broker's list.
type AssetSync struct {
	Changes   []AssetChange // existing assets by id, then added ones by symbol
	Unchanged int           // assets within the filter that do not change
	Skipped   []SkippedAsset

	listed   int // valid entries of the broker's list
	giftable int // giftable assets before the sync
}

// The safety brake: a sync that disables more than brakeAssets, and more than brakePercent
// of the giftable assets, may come from a truncated list.
const (
	brakeAssets  = 5
	brakePercent = 10
)

// Implausible returns why an operator must confirm the sync; "" when it looks right.
func (s AssetSync) Implausible() string {
	if s.listed == 0 {
		return "the broker's list is empty"
	}
	lost := 0
	for _, c := range s.Changes {
		if c.Before.Giftable() && c.Disabled() {
			lost++
		}
	}
	if lost > brakeAssets && lost*100 > s.giftable*brakePercent {
		return fmt.Sprintf("%d of the %d giftable stocks would be disabled", lost, s.giftable)
	}
	return ""
}

// SyncAssets updates the catalog from the broker's list:
//
//   - An asset is matched by the broker's identifier. An asset without one is matched by its
//     symbol and gets the identifier.
//   - An asset that the broker does not list as active, tradable and fractionable is gone
//     until it is listed so again. An asset that the operator disabled stays disabled.
//   - When the broker gives a symbol to another stock, the asset that had it is gone. It
//     keeps its id, holdings and rewards, and gets an unused symbol, such as AAPL.OLD.
//   - Assets outside the filter do not change, unless an asset within it needs their symbol.
//
// Afterwards no two assets share a symbol, and the same sync again changes nothing.
func SyncAssets(ours []Asset, theirs []BrokerAsset, f SyncFilter) AssetSync {
	s := syncer{f: f, market: readListings(theirs), owned: make(map[string]bool)}
	for _, a := range ours {
		if a.BrokerID != "" {
			s.owned[a.BrokerID] = true
		}
	}
	for _, a := range slices.SortedFunc(slices.Values(ours), func(a, b Asset) int { return cmp.Compare(a.ID, b.ID) }) {
		s.match(a)
	}
	s.add()
	s.explain()
	s.resolveClaims()
	s.renameDisplaced()
	return s.report()
}

// match is an asset of the catalog and its entry in the broker's list.
type match struct {
	before    Asset
	after     Asset
	listing   *listing // nil if it is not listed
	synced    bool     // it is within the filter, or its symbol is claimed
	ambiguous bool     // it is within the filter, but the list has it twice
	displaced bool     // its symbol belongs to another stock now
	why       string   // why it is gone
}

type syncer struct {
	f       SyncFilter
	market  listings
	owned   map[string]bool // broker's identifiers that assets of the catalog have
	matches []match
	added   []Asset
}

// match finds the asset in the broker's list.
func (s *syncer) match(a Asset) {
	id := a.BrokerID
	if id == "" && !s.owned[s.market.bySymbol[a.Symbol]] {
		id = s.market.bySymbol[a.Symbol]
		s.owned[id] = id != ""
	}
	p := match{before: a, after: a}
	if l, listed := s.market.byID[id]; listed {
		p.listing = &l
	}
	doubtful := s.market.doubtful[id] || a.BrokerID == "" && s.market.doubtful[a.Symbol]
	inFilter := s.f.includes(a.Symbol, p.listing)
	p.synced, p.ambiguous = inFilter && !doubtful, inFilter && doubtful
	if p.synced {
		s.update(&p)
	}
	s.matches = append(s.matches, p)
}

// includes reports whether the filter includes an asset with that entry in the list. Without
// an entry its exchange is unknown.
func (f SyncFilter) includes(symbol string, l *listing) bool {
	bySymbol := len(f.Symbols) == 0 || slices.Contains(f.Symbols, symbol) ||
		l != nil && slices.Contains(f.Symbols, l.Symbol)
	byExchange := len(f.Exchanges) == 0 || l != nil && slices.Contains(f.Exchanges, l.Exchange)
	return bySymbol && byExchange
}

// update applies the list's entry to the asset.
func (s *syncer) update(p *match) {
	if p.listing == nil {
		p.after.Gone, p.why = true, notListed
		p.displaced = s.market.symbols[p.before.Symbol]
		return
	}
	p.after.BrokerID, p.after.Symbol = p.listing.ID, p.listing.Symbol
	if p.listing.Name != "" {
		p.after.Name = p.listing.Name
	}
	p.why = p.listing.why
	p.after.Gone = p.why != ""
}

// add adds the stocks that the broker sells and the catalog does not have.
func (s *syncer) add() {
	for _, l := range s.market.byID {
		if l.why == "" && !s.owned[l.ID] && s.f.includes(l.Symbol, &l) {
			s.added = append(s.added, Asset{BrokerID: l.ID, Symbol: l.Symbol, Name: l.Name, Enabled: true})
		}
	}
	slices.SortFunc(s.added, func(a, b Asset) int { return strings.Compare(a.Symbol, b.Symbol) })
}

// explain reports why a stock that the filter names is not added.
func (s *syncer) explain() {
	for _, symbol := range s.f.Symbols {
		l, found := s.market.byID[s.market.bySymbol[symbol]]
		known := slices.ContainsFunc(s.matches, func(p match) bool { return p.before.Symbol == symbol })
		switch {
		case found && l.why != "" && !s.owned[l.ID]:
			s.market.skipped = append(s.market.skipped, SkippedAsset{l.ID, symbol, l.why})
		case !known && !s.market.symbols[symbol]:
			s.market.skipped = append(s.market.skipped, SkippedAsset{"", cleanText(symbol, maxBrokerID), notListed})
		}
	}
}

const notListed = "the broker does not list it"

// resolveClaims also syncs filtered-out and ambiguous assets whose symbol a synced asset
// gets, and ambiguous assets whose symbol belongs to another, unambiguous stock. Syncing one
// asset may claim the symbol of the next.
func (s *syncer) resolveClaims() {
	claimed := make(map[string]bool)
	for _, a := range s.added {
		claimed[a.Symbol] = true
	}
	for _, p := range s.matches {
		if p.synced && p.listing != nil {
			claimed[p.after.Symbol] = true
		}
	}
	for again := true; again; {
		again = false
		for i := range s.matches {
			p := &s.matches[i]
			another := p.ambiguous && s.market.bySymbol[p.before.Symbol] != "" &&
				s.market.bySymbol[p.before.Symbol] != p.before.BrokerID // sold or not
			if p.synced || !claimed[p.before.Symbol] && !another {
				continue
			}
			p.synced, again = true, true
			s.update(p)
			if p.listing != nil {
				claimed[p.after.Symbol] = true
			}
		}
	}
}

// renameDisplaced gives an unused symbol to every asset whose symbol is another's now.
func (s *syncer) renameDisplaced() {
	taken := make(map[string]bool)
	for symbol := range s.market.symbols {
		taken[symbol] = true
	}
	for _, p := range s.matches {
		taken[p.before.Symbol], taken[p.after.Symbol] = true, true
	}
	for i := range s.matches {
		p := &s.matches[i]
		if !p.displaced {
			continue
		}
		p.after.Symbol = OldSymbol(p.before.Symbol, taken)
		p.why = "its symbol belongs to another stock now"
		taken[p.after.Symbol] = true
	}
}

// OldSymbol returns an unused symbol for an asset that lost its symbol. It is well formed,
// because portfolios show it and the broker's prices are requested with it.
func OldSymbol(symbol string, taken map[string]bool) string {
	for n := 1; ; n++ {
		suffix := ".OLD"
		if n > 1 {
			suffix = fmt.Sprintf(".OLD%d", n)
		}
		old := symbol[:min(len(symbol), MaxSymbol-len(suffix))] + suffix
		if !taken[old] {
			return old
		}
	}
}

func (s *syncer) report() AssetSync {
	r := AssetSync{Skipped: s.market.skipped, listed: len(s.market.byID)}
	for _, p := range s.matches {
		if p.before.Giftable() {
			r.giftable++
		}
		switch {
		case p.after != p.before:
			r.Changes = append(r.Changes, AssetChange{Before: p.before, After: p.after, Why: p.why})
		case p.synced:
			r.Unchanged++
		}
	}
	for _, a := range s.added {
		r.Changes = append(r.Changes, AssetChange{After: a})
	}
	return r
}
