package catalog_test

import (
	"testing"

	"stockrewards/internal/catalog"
)

func TestEntriesAreSortedUniqueAndPriced(t *testing.T) {
	t.Parallel()
	entries, err := catalog.Entries()
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) < 500 {
		t.Errorf("%d entries, want at least 500", len(entries))
	}
	wanted := map[string]bool{"AAPL": false, "MSFT": false, "KO": false, "NVDA": false, "TSLA": false, "BRK.B": false, "VOO": false}
	last := ""
	for _, e := range entries {
		if e.Symbol <= last {
			t.Errorf("%q follows %q", e.Symbol, last)
		}
		if e.Name == "" || e.Exchange == "" || e.Price <= 0 || len(e.Symbol) > 16 {
			t.Errorf("incomplete entry %+v", e)
		}
		if _, ok := wanted[e.Symbol]; ok {
			wanted[e.Symbol] = true
		}
		last = e.Symbol
	}
	for symbol, found := range wanted {
		if !found {
			t.Errorf("%s is missing", symbol)
		}
	}
}
