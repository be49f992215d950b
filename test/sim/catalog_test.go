package sim

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/rewards"
)

// Some stocks are renamed, and some leave the catalog for a while.
func renamable() []string { return []string{"AAPL", "NVDA"} }

func delistable() []string { return []string{"BRK.B", "NVDA"} }

// symbolsOf are a stock's possible symbols; the first is the brokerage's.
func symbolsOf(stock string) []string { return []string{stock, stock + "A", stock + "B"} }

// stock is the name of the stock that has, or once had, this symbol: for most the brokerage's symbol.
func (w *world) stock(symbol string) string { return cmp.Or(w.symbols[symbol], renamed(symbol)) }

// renamed is the brokerage's symbol of a stock that only our catalog renames.
func renamed(symbol string) string {
	for _, s := range renamable() {
		if slices.Contains(symbolsOf(s), symbol) {
			return s
		}
	}
	return symbol
}

// brokerSymbol is the brokerage's symbol of a stock now.
func (w *world) brokerSymbol(stock string) string {
	if s := w.firms.of(stock); s != nil {
		return s.now
	}
	return stock
}

func (l *lab) symbol(stock string) string {
	return cmp.Or(l.present[stock], stock)
}

// sync is `stockrewards asset sync` with the broker's list as it is now.
func (l *lab) sync() {
	var list []rewards.BrokerAsset
	for _, a := range catalog() { // HALT included: its order fails
		if !l.gone[a.Symbol] {
			list = append(list, rewards.BrokerAsset{
				ID: exchange.AssetID(a.Symbol), Symbol: l.symbol(a.Symbol), Name: a.Name, Exchange: a.Exchange,
				Active: true, Tradable: true, Fractionable: true,
			})
		}
	}
	l.advanceEvents()
	for _, s := range l.firms.catalogNow() {
		list = append(list, rewards.BrokerAsset{
			ID: exchange.AssetID(s.name), Symbol: s.now, Name: s.name, Exchange: "NYSE",
			Active: true, Tradable: true, Fractionable: true,
		})
		l.renamedTo(s, s.now)
	}
	_, err := l.store.SyncAssets(l.t.Context(), func(ours []rewards.Asset) (rewards.AssetSync, error) {
		return rewards.SyncAssets(ours, list, rewards.SyncFilter{}), nil
	})
	l.check(err)
}

func (l *lab) rename(stock string) {
	if l.gone[stock] {
		return
	}
	l.covers(byRename, stock)
	before := l.symbol(stock)
	others := slices.DeleteFunc(symbolsOf(stock), func(s string) bool { return s == before })
	l.present[stock], l.renamed[stock] = others[l.random.IntN(len(others))], time.Now()
	l.sync()
	l.decisions++
	l.note("operator: a sync renames %s to %s", before, l.symbol(stock))
	time.Sleep(visible)
	if !l.nested {
		l.giveUnder(before, byRename)
	}
}

func (l *lab) delist() {
	if len(l.gone) > 0 {
		return
	}
	stock := delistable()[l.random.IntN(len(delistable()))]
	l.covers(byDelist, stock)
	l.gone[stock], l.away = true, 1+l.random.IntN(mostSittings)
	l.sync()
	l.decisions++
	l.note("operator: a sync finds %s gone", stock)
	time.Sleep(visible)
	l.giveUnder(l.symbol(stock), byDelist)
}

func (l *lab) relist() {
	for _, stock := range delistable() {
		if !l.gone[stock] {
			continue
		}
		l.covers(byRelist, stock)
		delete(l.gone, stock)
		l.sync()
		l.decisions++
		l.note("operator: a sync finds %s back", stock)
		time.Sleep(visible)
		g := l.newGiven()
		g.symbol = l.symbol(stock)
		l.give(g)
		if g.acknowledged {
			l.cover.hit(rowNew, byRelist)
		}
	}
}

// giveUnder repeats a recorded reward of a symbol that is no longer in the catalog, which is
// a replay, and gives a new one, which is refused.
func (l *lab) giveUnder(symbol, event string) {
	for _, g := range slices.Backward(l.given) {
		if g.symbol == symbol && g.acknowledged {
			l.give(g)
			l.cover.hit(rowAnswer, event)
			break
		}
	}
	g := l.newGiven()
	g.symbol = symbol
	l.give(g)
	if g.void {
		l.cover.hit(rowNew, event)
	}
}

// unknown reports whether a symbol is not in the catalog now.
func (l *lab) unknown(symbol string) bool {
	stock := l.stock(symbol)
	if s := l.firms.of(stock); s != nil && s.gone {
		return true // it may be in the catalog still
	}
	return l.gone[stock] || l.symbol(stock) != symbol
}

func (l *lab) refuse(g *given) {
	if g.void {
		return // it was sent twice
	}
	g.void = true
	same := func(other *given) bool { return other == g }
	l.given, l.unsure = slices.DeleteFunc(l.given, same), slices.DeleteFunc(l.unsure, same)
	l.promised[g.user] -= g.amount
}

// ahead is how far an order's times may be ahead of the clock: ids are, when many are made at
// once.
const ahead = 10 * time.Millisecond

// checkSymbol checks that an order is sent under the stock's present symbol, or the symbol of
// its first attempt.
func (l *lab) checkSymbol(symbol string, o rewards.Order) {
	stock := l.stock(symbol)
	if l.symbol(stock) != symbol && o.FirstAttemptAt.After(l.renamed[stock].Add(ahead)) {
		l.violate("a stock is bought under its present symbol", o.ClientOrderID, "%s, it is %s since %s; first sent at %s",
			symbol, l.symbol(stock), l.renamed[stock], o.FirstAttemptAt)
	}
}

// withBrokerSymbols replaces present symbols in a request by the brokerage's.
func (l *lab) withBrokerSymbols(r *http.Request, body []byte) *http.Request {
	if len(l.present) == 0 {
		return r
	}
	r = r.Clone(r.Context())
	for _, stock := range renamable() {
		for _, symbol := range symbolsOf(stock)[1:] {
			body = bytes.ReplaceAll(body, []byte(`"`+symbol+`"`), []byte(`"`+stock+`"`))
		}
	}
	if r.Body != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.ContentLength = int64(len(body))
	}
	if query := r.URL.Query(); query.Has("symbols") {
		list := strings.Split(query.Get("symbols"), ",")
		for i, symbol := range list {
			list[i] = renamed(symbol)
		}
		slices.Sort(list)
		query.Set("symbols", strings.Join(slices.Compact(list), ","))
		address := *r.URL
		address.RawQuery = query.Encode()
		r.URL = &address
	}
	return r
}

// withPresentSymbols replaces the brokerage's symbols in an answer by the present ones.
func (l *lab) withPresentSymbols(response *http.Response) {
	if len(l.present) == 0 {
		return
	}
	body, err := io.ReadAll(response.Body)
	for _, stock := range renamable() {
		body = bytes.ReplaceAll(body, []byte(`"`+stock+`"`), []byte(`"`+l.symbol(stock)+`"`))
	}
	var rest io.Reader = bytes.NewReader(body)
	if err != nil { // it was cut off
		rest = io.MultiReader(rest, failing{err})
	}
	response.Body = io.NopCloser(rest)
}

// failing is the rest of an answer that was cut off.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
