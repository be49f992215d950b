package rewards

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// SyncFilter limits which stocks a sync adds and touches; an empty list limits
// nothing.
type SyncFilter struct {
	Symbols   []string // in upper case: the stock's symbol, ours or the broker's
	Exchanges []string // as the broker names them
}

// AssetChange is one asset before and after a sync.
type AssetChange struct {
	Before Asset  // its ID is zero when the asset is added
	After  Asset  // its ID is zero when the asset is added
	Why    string // why the broker does not sell it; "" when it does
}

// Added tells whether the asset is new.
func (c AssetChange) Added() bool { return c.Before.ID == 0 }

// Renamed tells whether the symbol changes.
func (c AssetChange) Renamed() bool { return !c.Added() && c.Before.Symbol != c.After.Symbol }

// NewName tells whether the name changes.
func (c AssetChange) NewName() bool { return !c.Added() && c.Before.Name != c.After.Name }

// Adopted tells whether the asset gets the broker's identifier, which it had not.
func (c AssetChange) Linked() bool { return !c.Added() && c.Before.BrokerID != c.After.BrokerID }

// Disabled tells whether the broker does not sell the asset any more.
func (c AssetChange) Disabled() bool { return !c.Before.Gone && c.After.Gone }

// Returned tells whether the broker sells the asset again.
func (c AssetChange) Returned() bool { return c.Before.Gone && !c.After.Gone }

// SkippedAsset is an entry of the broker's list that a sync leaves alone.
type SkippedAsset struct {
	BrokerID string
	Symbol   string
	Reason   string
}

// AssetSync is what a sync of the catalog with the broker's list comes to.
type AssetSync struct {
	Changes   []AssetChange // of assets that exist, in order of their number; then added ones by symbol
	Unchanged int           // assets of the catalog within the filter that stay as they are
	Skipped   []SkippedAsset

	listed   int // entries of the broker's list that can be read
	giftable int // assets that could be given before
}

// The safety brake: a sync that takes more than so many assets out of the catalog,
// and more than that share of it, may follow from half an answer.
const (
	brakeAssets  = 5
	brakePercent = 10
)

// Alarming tells why the outcome should not be believed without an operator's word;
// "" when nothing speaks against it.
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
		return fmt.Sprintf("%d of the %d stocks that can be given would be disabled", lost, s.giftable)
	}
	return ""
}

// SyncAssets compares the catalog with the broker's list. An asset is followed by
// the broker's identifier of it; one that has none yet is found by its symbol and
// gets it. What the broker does not list as active, tradable and fractionable any
// more is gone, and comes back when it is listed so again; what the operator
// disabled stays disabled. A symbol that the broker gives to another stock is taken
// from the asset that had it: that one keeps its number, its holdings and its
// rewards under a name of its own (AAPL.OLD), and is gone. After a sync no two
// assets have one symbol, and the same sync again changes nothing.
//
// What is outside of the filter is left alone, unless its symbol now belongs to an
// asset within it.
func SyncAssets(ours []Asset, theirs []BrokerAsset, f SyncFilter) AssetSync {
	s := syncer{f: f, market: readListings(theirs), owned: make(map[string]bool)}
	for _, a := range ours {
		if a.BrokerID != "" {
			s.owned[a.BrokerID] = true
		}
	}
	for _, a := range slices.SortedFunc(slices.Values(ours), func(a, b Asset) int { return cmp.Compare(a.ID, b.ID) }) {
		s.place(a)
	}
	s.add()
	s.explain()
	s.makeWay()
	s.moveAway()
	return s.report()
}

// placed is an asset of the catalog with its place in the broker's list.
type placed struct {
	before  Asset
	after   Asset
	listing *listing // nil when the list does not have it
	inside  bool     // of the filter, so that it may change
	twice   bool     // the same, but the list tells it twice, so that it does not
	away    bool     // its symbol is another's
	why     string   // it is gone
}

type syncer struct {
	f      SyncFilter
	market listings
	owned  map[string]bool // the broker's identifiers that assets of ours have
	placed []placed
	added  []Asset
}

// place finds the asset in the list.
func (s *syncer) place(a Asset) {
	id := a.BrokerID
	if id == "" && !s.owned[s.market.bySymbol[a.Symbol]] {
		id = s.market.bySymbol[a.Symbol]
		s.owned[id] = id != ""
	}
	p := placed{before: a, after: a}
	if l, listed := s.market.byID[id]; listed {
		p.listing = &l
	}
	doubtful := s.market.doubtful[id] || a.BrokerID == "" && s.market.doubtful[a.Symbol]
	inside := s.f.takes(a.Symbol, p.listing)
	p.inside, p.twice = inside && !doubtful, inside && doubtful
	if p.inside {
		s.follow(&p)
	}
	s.placed = append(s.placed, p)
}

// takes tells whether the filter lets an asset of ours with that place in the list
// be touched. Without a place its exchange is not known.
func (f SyncFilter) takes(symbol string, l *listing) bool {
	bySymbol := len(f.Symbols) == 0 || slices.Contains(f.Symbols, symbol) ||
		l != nil && slices.Contains(f.Symbols, l.Symbol)
	byExchange := len(f.Exchanges) == 0 || l != nil && slices.Contains(f.Exchanges, l.Exchange)
	return bySymbol && byExchange
}

// follow makes the asset what the list says.
func (s *syncer) follow(p *placed) {
	if p.listing == nil {
		p.after.Gone, p.why = true, notListed
		p.away = s.market.symbols[p.before.Symbol]
		return
	}
	p.after.BrokerID, p.after.Symbol = p.listing.ID, p.listing.Symbol
	if p.listing.Name != "" {
		p.after.Name = p.listing.Name
	}
	p.why = p.listing.why
	p.after.Gone = p.why != ""
}

// add takes what the broker sells and the catalog does not have.
func (s *syncer) add() {
	for _, l := range s.market.byID {
		if l.why == "" && !s.owned[l.ID] && s.f.takes(l.Symbol, &l) {
			s.added = append(s.added, Asset{BrokerID: l.ID, Symbol: l.Symbol, Name: l.Name, Enabled: true})
		}
	}
	slices.SortFunc(s.added, func(a, b Asset) int { return strings.Compare(a.Symbol, b.Symbol) })
}

// explain tells why a stock that the filter names is not added.
func (s *syncer) explain() {
	for _, symbol := range s.f.Symbols {
		l, found := s.market.byID[s.market.bySymbol[symbol]]
		known := slices.ContainsFunc(s.placed, func(p placed) bool { return p.before.Symbol == symbol })
		switch {
		case found && l.why != "" && !s.owned[l.ID]:
			s.market.skipped = append(s.market.skipped, SkippedAsset{l.ID, symbol, l.why})
		case !known && !s.market.symbols[symbol]:
			s.market.skipped = append(s.market.skipped, SkippedAsset{"", cleanText(symbol, maxBrokerID), notListed})
		}
	}
}

const notListed = "the broker does not list it"

// makeWay takes those assets along that a filter leaves alone, or that the list
// tells twice, but whose symbol an asset gets that changes; of those that the list
// tells twice also what has the symbol of another stock that it tells once.
func (s *syncer) makeWay() {
	claimed := make(map[string]bool)
	for _, a := range s.added {
		claimed[a.Symbol] = true
	}
	for _, p := range s.placed {
		if p.inside && p.listing != nil {
			claimed[p.after.Symbol] = true
		}
	}
	for again := true; again; {
		again = false
		for i := range s.placed {
			p := &s.placed[i]
			another := p.twice && s.market.bySymbol[p.before.Symbol] != "" &&
				s.market.bySymbol[p.before.Symbol] != p.before.BrokerID // sold or not
			if p.inside || !claimed[p.before.Symbol] && !another {
				continue
			}
			p.inside, again = true, true
			s.follow(p)
			if p.listing != nil {
				claimed[p.after.Symbol] = true
			}
		}
	}
}

// moveAway gives a symbol of its own to every asset whose symbol is another's now.
func (s *syncer) moveAway() {
	taken := make(map[string]bool)
	for symbol := range s.market.symbols {
		taken[symbol] = true
	}
	for _, p := range s.placed {
		taken[p.before.Symbol], taken[p.after.Symbol] = true, true
	}
	for i := range s.placed {
		p := &s.placed[i]
		if !p.away {
			continue
		}
		p.after.Symbol = oldSymbol(p.before.Symbol, taken)
		p.why = "its symbol belongs to another stock now"
		taken[p.after.Symbol] = true
	}
}

// oldSymbol is a free symbol for an asset that loses its own. It is written as
// symbols are, since it is shown in portfolios and asked for with others.
func oldSymbol(symbol string, taken map[string]bool) string {
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
	for _, p := range s.placed {
		if p.before.Giftable() {
			r.giftable++
		}
		switch {
		case p.after != p.before:
			r.Changes = append(r.Changes, AssetChange{Before: p.before, After: p.after, Why: p.why})
		case p.inside:
			r.Unchanged++
		}
	}
	for _, a := range s.added {
		r.Changes = append(r.Changes, AssetChange{After: a})
	}
	return r
}
