package rewards

import (
	"slices"
	"strings"
	"unicode"
)

// The limits of a stock's members in the broker's list.
const (
	maxBrokerID  = 64  // characters
	maxAssetName = 200 // characters; longer names are cut
)

// listing is a valid, unambiguous entry of the broker's list.
type listing struct {
	BrokerAsset
	why string // why the broker does not sell fractions of it; "" when it does
}

// listings is the broker's list, checked.
type listings struct {
	byID     map[string]listing
	bySymbol map[string]string // identifiers
	symbols  map[string]bool   // all listed symbols, including those of ambiguous entries
	doubtful map[string]bool   // identifiers and symbols of ambiguous or invalid entries
	skipped  []SkippedAsset
}

// readListings checks the broker's list. It leaves out invalid entries, and all entries that
// share an identifier or a symbol.
func readListings(theirs []BrokerAsset) listings {
	m := listings{
		byID: make(map[string]listing), bySymbol: make(map[string]string),
		symbols: make(map[string]bool), doubtful: make(map[string]bool),
	}
	reasons := doubts(theirs)
	for _, b := range theirs {
		if wellFormedSymbol(b.Symbol) {
			m.symbols[b.Symbol] = true
		}
		if reason := reasons[b.ID+" "+b.Symbol]; reason != "" {
			m.doubtful[b.ID], m.doubtful[b.Symbol] = b.ID != "", true
			if unsold(b) == "" {
				id, symbol := cleanText(b.ID, maxBrokerID), cleanText(b.Symbol, maxBrokerID)
				m.skipped = append(m.skipped, SkippedAsset{id, symbol, reason})
			}
			continue
		}
		b.Name = cleanText(b.Name, maxAssetName)
		m.byID[b.ID] = listing{BrokerAsset: b, why: unsold(b)}
		m.bySymbol[b.Symbol] = b.ID
	}
	return m
}

// doubts returns why entries are left out, by identifier and symbol.
func doubts(theirs []BrokerAsset) map[string]string {
	byID, bySymbol := make(map[string]map[string]bool), make(map[string]map[string]bool)
	note := func(in map[string]map[string]bool, key, value string) {
		if in[key] == nil {
			in[key] = make(map[string]bool)
		}
		in[key][value] = true
	}
	for _, b := range theirs {
		note(byID, b.ID, b.Symbol)
		note(bySymbol, b.Symbol, b.ID)
	}
	reasons := make(map[string]string)
	for _, b := range theirs {
		switch {
		case !wellFormedSymbol(b.Symbol):
			reasons[b.ID+" "+b.Symbol] = "the symbol is invalid"
		case b.ID == "" || len(b.ID) > maxBrokerID || b.ID != cleanText(b.ID, maxBrokerID):
			reasons[b.ID+" "+b.Symbol] = "the identifier is invalid"
		case len(byID[b.ID]) > 1 || len(bySymbol[b.Symbol]) > 1:
			reasons[b.ID+" "+b.Symbol] = "the list has it twice"
		}
	}
	return reasons
}

// unsold returns why the broker does not sell fractions of a stock; "" when it does.
func unsold(b BrokerAsset) string {
	switch {
	case !b.Active:
		return "it is not active"
	case !b.Tradable:
		return "it is not tradable"
	case !b.Fractionable:
		return "it is not fractionable"
	}
	return ""
}

// wellFormedSymbol reports whether a symbol is 1 to 16 upper-case letters, digits, dots,
// dashes and slashes.
func wellFormedSymbol(symbol string) bool {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-/"
	return symbol != "" && len(symbol) <= MaxSymbol && strings.Trim(symbol, allowed) == ""
}

// cleanText makes a broker's string printable: valid UTF-8 on one line, without control
// characters, cut to limit characters.
func cleanText(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, " "))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > limit {
		text = strings.TrimSpace(string(slices.Clip(runes[:limit])))
	}
	return text
}
