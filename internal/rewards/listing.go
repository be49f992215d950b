package rewards

import (
	"slices"
	"strings"
	"unicode"
)

// The limits of what a broker's list may say of a stock.
const (
	maxBrokerID  = 64  // characters
	maxAssetName = 200 // characters; longer names are cut
)

// listing is a stock of the broker's list that can be told apart from all others.
type listing struct {
	BrokerAsset
	why string // why it is not taken; "" when the broker sells it in fractions
}

// listings are the broker's list, read.
type listings struct {
	byID     map[string]listing
	bySymbol map[string]string // the identifiers
	symbols  map[string]bool   // all that are listed, of doubtful entries too
	doubtful map[string]bool   // identifiers and symbols that are told in two ways
	skipped  []SkippedAsset
}

// readListings reads the list. Entries that share an identifier or a symbol with
// another one, or whose symbol can be none, are left out: nobody knows which one
// is meant.
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

// doubts tells, by identifier and symbol, which entries cannot be taken, and why.
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
			reasons[b.ID+" "+b.Symbol] = "the symbol is none"
		case b.ID == "" || len(b.ID) > maxBrokerID || b.ID != cleanText(b.ID, maxBrokerID):
			reasons[b.ID+" "+b.Symbol] = "the identifier is none"
		case len(byID[b.ID]) > 1 || len(bySymbol[b.Symbol]) > 1:
			reasons[b.ID+" "+b.Symbol] = "the list has it twice"
		}
	}
	return reasons
}

// unsold tells why a stock is not taken into the catalog; "" when it can be.
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

// wellFormedSymbol tells whether a symbol can be given and asked for: 1 to 16
// upper-case letters, digits, dots, dashes and slashes.
func wellFormedSymbol(symbol string) bool {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-/"
	return symbol != "" && len(symbol) <= MaxSymbol && strings.Trim(symbol, allowed) == ""
}

// cleanText makes a broker's text one that can be shown: valid, on one line, without
// control characters, not longer than most characters.
func cleanText(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, " "))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = strings.TrimSpace(string(slices.Clip(runes[:most])))
	}
	return text
}
