package wire

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/broker/paper/apierror"
	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/broker/paper/faults"
	"stockrewards/internal/money"
)

// trade is Alpaca's JSON of a trade. Prices of the market data API are JSON numbers.
type trade struct {
	Time       string         `json:"t"`
	Exchange   string         `json:"x"`
	Price      jsontext.Value `json:"p"`
	Size       int            `json:"s"`
	Conditions []string       `json:"c"`
	ID         int64          `json:"i"`
	Tape       string         `json:"z"`
}

// quote is Alpaca's JSON of the best bid and ask.
type quote struct {
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

type bar struct {
	Time    string         `json:"t"`
	Open    jsontext.Value `json:"o"`
	High    jsontext.Value `json:"h"`
	Low     jsontext.Value `json:"l"`
	Close   jsontext.Value `json:"c"`
	Volume  int            `json:"v"`
	Trades  int            `json:"n"`
	Average jsontext.Value `json:"vw"`
}

type snapshot struct {
	LatestTrade  trade `json:"latestTrade"`
	LatestQuote  quote `json:"latestQuote"`
	MinuteBar    bar   `json:"minuteBar"`
	DailyBar     bar   `json:"dailyBar"`
	PrevDailyBar bar   `json:"prevDailyBar"`
}

// view is a stock at a moment, with the fault that strikes its price.
type view struct {
	*exchange.Exchange
	exchange.Moment

	stock *exchange.Listing
	fault string // a kind; empty for none
}

// view returns what the API shows of a stock, and false when a fault hides it.
func (s *Server) view(l *exchange.Listing, m exchange.Moment) (view, bool) {
	f := s.faults.StrikeQuote(l.Symbol, m.Now)
	return view{s.exchange, s.exchange.MomentOf(l, m), l, f.Kind}, f.Kind != faults.MissingQuote
}

func (s *Server) getLatestTrades(r *http.Request) (any, error) {
	trades, err := perSymbol(s, r, view.trade)
	return map[string]any{"trades": trades}, err
}

func (s *Server) getLatestBars(r *http.Request) (any, error) {
	bars, err := perSymbol(s, r, view.minuteBar)
	return map[string]any{"bars": bars}, err
}

func (s *Server) getSnapshots(r *http.Request) (any, error) { return perSymbol(s, r, view.snapshot) }

func (s *Server) getLatestTrade(r *http.Request) (any, error) {
	v, err := s.oneStock(r)
	if err != nil {
		return nil, err
	}
	return map[string]any{"symbol": v.stock.Symbol, "trade": v.trade()}, nil
}

func (s *Server) getSnapshot(r *http.Request) (any, error) {
	v, err := s.oneStock(r)
	if err != nil {
		return nil, err
	}
	return struct {
		Symbol string `json:"symbol"`
		snapshot
	}{v.stock.Symbol, v.snapshot()}, nil
}

// perSymbol returns a value for each listed symbol of the query.
func perSymbol[V any](s *Server, r *http.Request, value func(view) V) (map[string]V, error) {
	symbols := readList(r.URL.Query(), "symbols")
	if len(symbols) == 0 {
		return nil, &apierror.Error{Status: http.StatusBadRequest, Message: "symbols is required"}
	}
	m := s.exchange.Moment(s.now())
	found := make(map[string]V, len(symbols))
	for _, symbol := range symbols {
		if l := s.exchange.BySymbol(symbol); l != nil {
			if v, shown := s.view(l, m); shown {
				found[symbol] = value(v)
			}
		}
	}
	return found, nil
}

// oneStock returns the view of the stock in the path.
func (s *Server) oneStock(r *http.Request) (view, error) {
	symbol := r.PathValue("symbol")
	if l := s.exchange.BySymbol(symbol); l != nil {
		if v, shown := s.view(l, s.exchange.Moment(s.now())); shown {
			return v, nil
		}
	}
	return view{}, &apierror.Error{Status: http.StatusNotFound, Message: "no data for " + symbol}
}

// lastTrade returns the time and price of the latest trade, falsified by a fault.
func (v view) lastTrade() (time.Time, money.Price) {
	price := v.Price(v.stock, v.Trade)
	switch v.fault {
	case faults.ZeroQuote:
		return v.Trade, 0
	case faults.AbsurdQuote:
		return v.Trade, absurd(price)
	case faults.StaleQuote:
		return v.Previous.Close, v.Price(v.stock, v.Previous.Close)
	}
	return v.Trade, price
}

func (v view) trade() trade {
	at, price := v.lastTrade()
	return trade{
		Time: timestamp(at.UTC()), Exchange: "V", Price: number(price), Size: 100,
		Conditions: []string{"@"}, ID: v.Trade.Unix(), Tape: "C",
	}
}

func (v view) snapshot() snapshot {
	trade, price := v.trade(), v.Price(v.stock, v.Trade)
	tick := exchange.Tick(price)
	closing := v.Today.Close
	if v.Trade.Before(closing) {
		closing = v.Trade
	}
	return snapshot{
		LatestTrade: trade,
		LatestQuote: quote{
			Time: trade.Time, AskExchange: "V", AskPrice: number(price + tick), AskSize: 1,
			BidExchange: "V", BidPrice: number(max(price-tick, exchange.MinPrice)), BidSize: 1,
			Conditions: []string{"R"}, Tape: "C",
		},
		MinuteBar:    v.minuteBar(),
		DailyBar:     v.bar(v.Day(v.Today.Open), v.Today.Open, closing),
		PrevDailyBar: v.bar(v.Day(v.Previous.Open), v.Previous.Open, v.Previous.Close),
	}
}

// minuteBar returns the bar of the current minute, or of the last one before the close.
func (v view) minuteBar() bar {
	begin := v.Trade.Truncate(time.Minute)
	if begin.Equal(v.Today.Close) {
		begin = begin.Add(-time.Minute)
	}
	return v.bar(begin, begin, v.Trade)
}

// bar returns the bar of a period. Its high and low are those of a few samples.
func (v view) bar(stamp, from, to time.Time) bar {
	const samples = 8
	opening, closing := v.Price(v.stock, from), v.Price(v.stock, to)
	low, high := min(opening, closing), max(opening, closing)
	step := to.Sub(from) / samples
	for i := range samples {
		p := v.Price(v.stock, from.Add(time.Duration(i)*step))
		low, high = min(low, p), max(high, p)
	}
	seconds := int(to.Sub(from) / time.Second)
	return bar{
		Time: timestamp(stamp.UTC()),
		Open: number(opening), High: number(high), Low: number(low), Close: number(closing),
		Volume: seconds * 100, Trades: seconds, Average: number((low + high) / 2),
	}
}

// number returns a price as a JSON number.
func number(p money.Price) jsontext.Value { return p.Append(nil) }
