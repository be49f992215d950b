package fulfillment_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
)

// deed is a corporate action of the model of one day: what happens, as the company says it.
type deed struct {
	kind           string
	source, target int   // of dayStocks
	old, new       int64 // new shares for old
	id             string
}

// dayStocks are the stocks of the model.
func dayStocks() []string { return []string{"AAPL", "KO", "XYZ"} }

// deedBodies are the announcements by kind: S and T are symbols, O and N rates.
func deedBodies() map[string]string {
	const (
		rates   = `"old_rate":O,"new_rate":N,`
		merging = `"acquiree_symbol":"S","acquirer_symbol":"T","acquiree_rate":O,"acquirer_rate":N,`
	)
	return map[string]string{
		"forward_split":         `{"type":"forward_split","symbol":"S",` + rates + `"ex_date":"2000-01-06"}`,
		"reverse_split":         `{"type":"reverse_split","symbol":"S",` + rates + `"ex_date":"2000-01-06"}`,
		"renaming_split":        `{"type":"reverse_split","symbol":"S","new_symbol":"SX",` + rates + `"ex_date":"2000-01-06"}`,
		"stock_dividend":        `{"type":"stock_dividend","symbol":"S","rate":R,"ex_date":"2000-01-06"}`,
		"name_change":           `{"type":"name_change","old_symbol":"S","new_symbol":"SX","process_date":"2000-01-06"}`,
		"spin_off":              `{"type":"spin_off","source_symbol":"S","source_rate":O,"new_symbol":"T","new_rate":N,"ex_date":"2000-01-06"}`,
		"stock_merger":          `{"type":"stock_merger",` + merging + `"effective_date":"2000-01-06"}`,
		"stock_and_cash_merger": `{"type":"stock_and_cash_merger",` + merging + `"cash_rate":3,"effective_date":"2000-01-06"}`,
	}
}

// body is the announcement of the deed.
func (d deed) body() string {
	return strings.NewReplacer(`"S`, `"`+dayStocks()[d.source], `"T"`, `"`+dayStocks()[d.target]+`"`,
		":O,", fmt.Sprintf(":%d,", d.old), ":N,", fmt.Sprintf(":%d,", d.new),
		":R,", fmt.Sprintf(":%g,", float64(d.new-d.old)/float64(d.old))).Replace(deedBodies()[d.kind])
}

// String is the deed for people.
func (d deed) String() string {
	return fmt.Sprintf("%s %d:%d of %s to %s, %s", d.kind, d.old, d.new, dayStocks()[d.source], dayStocks()[d.target], d.id)
}

// ends reports whether the deed ends its stock.
func (d deed) ends() bool { return strings.HasSuffix(d.kind, "merger") }

// gives reports whether holders get another stock.
func (d deed) gives() bool { return d.ends() || d.kind == "spin_off" }

// renames reports whether the stock gets another symbol.
func (d deed) renames() bool { return d.kind == "name_change" || d.kind == "renaming_split" }

// happen does to one holder's billionths of shares what the deed says. It shares no code with the service.
func (d deed) happen(shares []int64) {
	result := shares[d.source] * d.new / d.old
	switch {
	case d.gives():
		shares[d.target] += result
	default:
		shares[d.source] = result
	}
	if d.ends() {
		shares[d.source] = 0
	}
}

// randomDeeds returns deeds of one day, in the order in which the broker does them.
func randomDeeds(r *rand.Rand, n int) (list []deed) {
	kinds := []string{
		"forward_split", "reverse_split", "stock_dividend", "spin_off", "stock_merger", "forward_split", "reverse_split",
		"stock_dividend", "spin_off", "stock_merger", "renaming_split", "name_change", "stock_and_cash_merger",
	}
	for tries := 0; len(list) < n && tries < 1000; tries++ {
		d := deed{kind: kinds[r.IntN(len(kinds))], source: r.IntN(3), old: 1, new: 1}
		d.target = (d.source + 1 + r.IntN(2)) % len(dayStocks())
		switch d.kind {
		case "forward_split":
			d.old = 1 + r.Int64N(2)
			d.new = d.old + 1 + r.Int64N(4)
		case "reverse_split", "renaming_split":
			d.old = 2 + r.Int64N(9)
		case "stock_dividend":
			d.old, d.new = 20, 21+r.Int64N(3)
		case "spin_off":
			if d.old = 2 + r.Int64N(5); dayStocks()[d.target] == "AAPL" { // the dearest: the source keeps a price
				d.old += 6
			}
		case "stock_merger", "stock_and_cash_merger":
			d.old, d.new = 1+r.Int64N(4), 1+r.Int64N(4)
		default:
		}
		if !slices.ContainsFunc(list, d.excludedBy) {
			list = append(list, d)
		}
	}
	return list
}

// excludedBy reports whether the deed cannot come after an earlier one: it repeats that one, its stock has ended, or a
// symbol is another stock's meanwhile.
func (d deed) excludedBy(before deed) bool {
	touches := d.source == before.source || d.gives() && d.target == before.source
	switch {
	case before.ends() && touches:
		return true
	case before.renames() && d.renames() && d.source == before.source:
		return true
	case before.renames() && d.gives() && d.target == before.source: // the broker knows only the new symbol
		return true
	}
	return d.source == before.source && (d.kind == before.kind && d.old == before.old && d.new == before.new)
}

// announceAll posts deeds in their order.
func (w *world) announceAll(list []deed) {
	w.t.Helper()
	for i := range list {
		list[i].id = w.control(http.MethodPost, "corporate-actions", list[i].body())
	}
}
