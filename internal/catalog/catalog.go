// Package catalog is the embedded list of well-known US stocks and ETFs: what can
// be given from the first start on, and the price levels that the paper brokerage
// starts from.
package catalog

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strings"

	"stockrewards/internal/money"
)

// Entry is one stock of the list.
type Entry struct {
	Symbol   string
	Name     string
	Exchange string
	Price    money.Price // a reference level of 2025, for the paper brokerage only
}

//go:embed catalog.csv
var file string

// Entries are the stocks of the list, sorted by symbol. It fails only when the
// embedded list is malformed, which a test rules out.
func Entries() ([]Entry, error) {
	records, err := csv.NewReader(strings.NewReader(file)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	entries := make([]Entry, 0, len(records)-1)
	for _, r := range records[1:] {
		price, err := money.ParsePrice(r[3])
		if err != nil {
			return nil, fmt.Errorf("catalog: price of %s: %w", r[0], err)
		}
		entries = append(entries, Entry{Symbol: r[0], Name: r[1], Exchange: r[2], Price: price})
	}
	return entries, nil
}
