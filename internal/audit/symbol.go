package audit

import (
	"slices"
	"strings"

	"stockrewards/internal/audit/value"
)

// symbols are the stocks' symbols, and which of them became each other: by a sync of the catalog, as the operator log
// has it, or by a corporate action and its undo. A stock that had a symbol has one now that it became.
type symbols struct {
	of         map[int64]string  // by asset, now
	became     map[string]string // trees of symbols; a root has no entry
	unclear    map[int64]bool    // assets that had an action whose terms may have been others
	incomplete bool              // the log lists only some of the renamed stocks
}

// plain returns what a symbol and those that it gets when another stock takes it have in common: AAPL of AAPL.OLD2.
func plain(symbol string) string {
	const shortest = 10 // the start of a symbol of 16 characters that is left before .OLD99
	symbol, _, _ = strings.Cut(symbol, ".OLD")
	return symbol[:min(len(symbol), shortest)]
}

func (s *symbols) root(symbol string) string {
	symbol = plain(symbol)
	for next, found := s.became[symbol]; found; next, found = s.became[symbol] {
		symbol = next
	}
	return symbol
}

func (s *symbols) join(a, b string) {
	if a, b = s.root(a), s.root(b); a != b {
		s.became[a] = b
	}
}

// noteSync notes what a sync renamed: "A to B, C to D". A long list ends with "and 3 more".
func (s *symbols) noteSync(renamed string) {
	if renamed == "" {
		return
	}
	for one := range strings.SplitSeq(renamed, ", ") {
		before, after, found := strings.Cut(one, " to ")
		if !found || strings.Contains(after, " ") {
			s.incomplete = true
		}
		s.join(before, after)
	}
}

// noteRenames notes the symbols of the corporate actions.
func (a *auditor) noteRenames() error {
	for _, c := range a.actions {
		renames := c.newSymbol != "" && (c.kind == "name_change" || c.kind == "reverse_split")
		if renames {
			a.symbols.join(c.symbol, c.newSymbol)
		}
		undone := slices.ContainsFunc(a.ofAsset[c.asset], func(w *unitSwitch) bool {
			return w.action == c.id && w.undoes != 0
		})
		if c.revision > 1 && (renames || undone) {
			a.symbols.unclear[c.asset] = true
		}
	}
	return nil
}

// checkSymbol checks that a reward is of the stock that had its symbol when it was recorded. A dividend's award has the
// symbol of the announcement; partRule has its stock.
func (a *auditor) checkSymbol(r *reward) {
	s := &a.symbols
	now := s.of[r.asset]
	dividend := r.counted == 0 && r.source == "dividend"
	if dividend || now == "" || r.symbol == "" || s.incomplete || s.unclear[r.asset] {
		return
	}
	if a.beforeSeals(r.id) || s.root(r.symbol) == s.root(now) { // before the operator log syncs left no trace
		return
	}
	a.t.fail(checkAssetKnown, r.name(), value.Asset(r.asset)+", "+now,
		"the stock that had the symbol "+r.symbol+", which never became "+now)
}
