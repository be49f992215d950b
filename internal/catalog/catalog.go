// Package catalog is the embedded list of well-known US stocks and ETFs: the giftable assets
// of a new store, and the first prices of the paper brokerage.
package catalog

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strings"

	"stockrewards/internal/money"
)

// Entry is a stock of the list.
type Entry struct {
	Symbol   string
	Name     string
	Exchange string
	Price    money.Price // a level of 2025, only for the paper brokerage
}

//go:embed catalog.csv
var file string

// Entries returns the list, sorted by symbol. It fails only if the embedded list is
// malformed.
func Entries() ([]Entry, error) {
	records, err := csv.NewReader(strings.NewReader(file)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("cannot read the embedded catalog: %w", err)
	}
	entries := make([]Entry, 0, len(records)-1)
	for _, r := range records[1:] {
		price, err := money.ParsePrice(r[3])
		if err != nil {
			return nil, fmt.Errorf("cannot read the embedded catalog: price of %s: %w", r[0], err)
		}
		entries = append(entries, Entry{Symbol: r[0], Name: r[1], Exchange: r[2], Price: price})
	}
	return entries, nil
}
