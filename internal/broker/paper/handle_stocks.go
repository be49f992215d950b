package paper

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/money"
)

// barSamples is at how many instants a bar looks at the price for its high and low.
const barSamples = 8

// wireTrade is a trade as the data API writes one. Prices are JSON numbers there.
type wireTrade struct {
	Time       string         `json:"t"`
	Exchange   string         `json:"x"`
	Price      jsontext.Value `json:"p"`
	Size       int            `json:"s"`
	Conditions []string       `json:"c"`
	ID         int64          `json:"i"`
	Tape       string         `json:"z"`
}

type wireQuote struct {
	Time        string         `json:"t"`
	AskExchange string         `json:"ax"`
	AskPrice    jsontext.Value `json:"ap"`
	AskSize     int            `json:"as"`
	BidExchange string         `json:"bx"`
	BidPrice    jsontext.Value `json:"bp"`
	BidSize     int            `json:"bs"`
	Conditions  []string       `json:"c"`
	Tape        string         `json:"z"`
}

type wireBar struct {
	Time    string         `json:"t"`
	Open    jsontext.Value `json:"o"`
	High    jsontext.Value `json:"h"`
	Low     jsontext.Value `json:"l"`
	Close   jsontext.Value `json:"c"`
	Volume  int            `json:"v"`
	Trades  int            `json:"n"`
	Average jsontext.Value `json:"vw"`
}

type wireSnapshot struct {
	LatestTrade  wireTrade `json:"latestTrade"`
	LatestQuote  wireQuote `json:"latestQuote"`
	MinuteBar    wireBar   `json:"minuteBar"`
	DailyBar     wireBar   `json:"dailyBar"`
	PrevDailyBar wireBar   `json:"prevDailyBar"`
}

func (b *Brokerage) getLatestTrades(r *http.Request) (any, error) {
	trades, err := perSymbol(b, r, (*Brokerage).trade)
	return map[string]any{"trades": trades}, err
}

func (b *Brokerage) getLatestTrade(r *http.Request) (any, error) {
	l, err := b.listing(r)
	if err != nil {
		return nil, err
	}
	m, told := b.quoted(l, b.moment())
	if !told {
		return nil, noData(l.Symbol)
	}
	return map[string]any{"symbol": l.Symbol, "trade": b.trade(l, m)}, nil
}

func (b *Brokerage) getLatestBars(r *http.Request) (any, error) {
	bars, err := perSymbol(b, r, (*Brokerage).minuteBar)
	return map[string]any{"bars": bars}, err
}

func (b *Brokerage) getSnapshots(r *http.Request) (any, error) {
	return perSymbol(b, r, (*Brokerage).snapshot)
}

func (b *Brokerage) getSnapshot(r *http.Request) (any, error) {
	l, err := b.listing(r)
	if err != nil {
		return nil, err
	}
	m, told := b.quoted(l, b.moment())
	if !told {
		return nil, noData(l.Symbol)
	}
	return struct {
		Symbol string `json:"symbol"`
		wireSnapshot
	}{l.Symbol, b.snapshot(l, m)}, nil
}

// perSymbol makes a value for each symbol of the query that is listed.
func perSymbol[V any](
	b *Brokerage, r *http.Request, value func(*Brokerage, *listing, moment) V,
) (map[string]V, error) {
	symbols, err := readSymbols(r.URL.Query())
	if err != nil {
		return nil, err
	}
	m := b.moment()
	found := make(map[string]V, len(symbols))
	for _, symbol := range symbols {
		l := b.market.bySymbol[symbol]
		if l == nil {
			continue
		}
		if quoted, told := b.quoted(l, m); told {
			found[symbol] = value(b, l, quoted)
		}
	}
	return found, nil
}

func readSymbols(q url.Values) ([]string, error) {
	text := q.Get("symbols")
	if text == "" {
		return nil, &apiError{status: http.StatusBadRequest, message: "symbols is required"}
	}
	return strings.Split(text, ","), nil
}

func (b *Brokerage) listing(r *http.Request) (*listing, error) {
	symbol := r.PathValue("symbol")
	if l := b.market.bySymbol[symbol]; l != nil {
		return l, nil
	}
	return nil, noData(symbol)
}

func noData(symbol string) *apiError {
	return &apiError{status: http.StatusNotFound, message: "no data for " + symbol}
}

func (b *Brokerage) moment() moment { return b.market.moment(b.clock.micros()) }

// quoted is the moment with the fault that strikes at the stock's price, and
// whether a price is told at all.
func (b *Brokerage) quoted(l *listing, m moment) (moment, bool) {
	m = m.of(b.market, l)
	f, _ := b.faults.strike(groupQuote, "", func() string { return l.Symbol }, m.now)
	m.fault = f.Kind
	return m, f.Kind != missingQuote
}

// lastTrade is the time and the price of the latest trade, as a fault tells it.
func (b *Brokerage) lastTrade(l *listing, m moment) (time.Time, money.Price) {
	price := b.market.price(l, m.trade)
	switch m.fault {
	case zeroQuote:
		return m.trade, 0
	case absurdQuote:
		return m.trade, min(price, maxReferencePrice/absurdity) * absurdity
	case staleQuote:
		return m.previous.close, b.market.price(l, m.previous.close)
	}
	return m.trade, price
}

func (b *Brokerage) trade(l *listing, m moment) wireTrade {
	at, price := b.lastTrade(l, m)
	return wireTrade{
		Time: timestamp(at.UTC()), Exchange: "V", Price: number(price), Size: 100,
		Conditions: []string{"@"}, ID: m.trade.Unix(), Tape: "C",
	}
}

func (b *Brokerage) minuteBar(l *listing, m moment) wireBar {
	begin := m.trade.Truncate(time.Minute)
	if begin.Equal(m.today.close) { // the market is closed: the bar of its last minute
		begin = begin.Add(-time.Minute)
	}
	return b.bar(l, begin, begin, m.trade)
}

func (b *Brokerage) snapshot(l *listing, m moment) wireSnapshot {
	trade := b.trade(l, m)
	price := b.market.price(l, m.trade)
	step := cent
	if price < dollar {
		step = tenthOfMil
	}
	return wireSnapshot{
		LatestTrade: trade,
		LatestQuote: wireQuote{
			Time: trade.Time, AskExchange: "V", AskPrice: number(price + step), AskSize: 1,
			BidExchange: "V", BidPrice: number(max(price-step, tenthOfMil)), BidSize: 1,
			Conditions: []string{"R"}, Tape: "C",
		},
		MinuteBar:    b.minuteBar(l, m),
		DailyBar:     b.bar(l, b.market.day(m.today.open), m.today.open, earlier(m.trade, m.today.close)),
		PrevDailyBar: b.bar(l, b.market.day(m.previous.open), m.previous.open, m.previous.close),
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// bar sums up a stretch of time. Its high and low are those of a few samples.
func (b *Brokerage) bar(l *listing, stamp, from, to time.Time) wireBar {
	opening, closing := b.market.price(l, from), b.market.price(l, to)
	low, high := min(opening, closing), max(opening, closing)
	step := to.Sub(from) / barSamples
	for i := range barSamples {
		p := b.market.price(l, from.Add(time.Duration(i)*step))
		low, high = min(low, p), max(high, p)
	}
	seconds := int(to.Sub(from) / time.Second)
	return wireBar{
		Time: timestamp(stamp.UTC()),
		Open: number(opening), High: number(high), Low: number(low), Close: number(closing),
		Volume: seconds * 100, Trades: seconds, Average: number((low + high) / 2),
	}
}

// number is a price as a JSON number.
func number(p money.Price) jsontext.Value { return p.Append(nil) }
