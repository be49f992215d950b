package wire

import (
	"net/http"
	"time"

	"stockrewards/internal/broker/paper/apierror"
	"stockrewards/internal/broker/paper/books"
	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/money"
)

// account is Alpaca's JSON of an account: a cash account, without margin.
type account struct {
	ID                    string `json:"id"`
	AccountNumber         string `json:"account_number"`
	Status                string `json:"status"`
	CryptoStatus          string `json:"crypto_status"`
	Currency              string `json:"currency"`
	Cash                  string `json:"cash"`
	BuyingPower           string `json:"buying_power"`
	RegtBuyingPower       string `json:"regt_buying_power"`
	DaytradingBuyingPower string `json:"daytrading_buying_power"`
	NonMarginable         string `json:"non_marginable_buying_power"` //nolint:misspell // Alpaca's word
	OptionsBuyingPower    string `json:"options_buying_power"`
	Equity                string `json:"equity"`
	LastEquity            string `json:"last_equity"`
	PortfolioValue        string `json:"portfolio_value"`
	LongMarketValue       string `json:"long_market_value"`
	ShortMarketValue      string `json:"short_market_value"`
	InitialMargin         string `json:"initial_margin"`
	MaintenanceMargin     string `json:"maintenance_margin"`
	LastMaintenanceMargin string `json:"last_maintenance_margin"`
	SMA                   string `json:"sma"`
	AccruedFees           string `json:"accrued_fees"`
	Multiplier            string `json:"multiplier"`
	DaytradeCount         int    `json:"daytrade_count"`
	PatternDayTrader      bool   `json:"pattern_day_trader"`
	TradingBlocked        bool   `json:"trading_blocked"`
	TransfersBlocked      bool   `json:"transfers_blocked"`
	AccountBlocked        bool   `json:"account_blocked"`
	TradeSuspendedByUser  bool   `json:"trade_suspended_by_user"`
	ShortingEnabled       bool   `json:"shorting_enabled"`
	BalanceAsOf           string `json:"balance_asof"`
	CreatedAt             string `json:"created_at"`
}

func (s *Server) getAccount(r *http.Request) (any, error) {
	now := s.now()
	f, positions, err := s.books.Statement(r.Context(), now)
	if err != nil {
		return nil, err
	}
	m := s.exchange.Moment(now)
	equity, last := f.Cash, f.Cash
	for _, p := range positions {
		v := s.value(p, m)
		if equity, err = money.AddUSD(equity, v.value); err != nil {
			return nil, err
		}
		if last, err = money.AddUSD(last, v.lastValue); err != nil {
			return nil, err
		}
	}
	power := f.BuyingPower().String()
	return account{
		ID: s.books.Account.ID, AccountNumber: s.books.Account.Number,
		Status: "ACTIVE", CryptoStatus: "INACTIVE", Currency: "USD",
		Cash: f.Cash.String(), BuyingPower: power, RegtBuyingPower: power, NonMarginable: power,
		DaytradingBuyingPower: "0", OptionsBuyingPower: "0",
		Equity: equity.String(), PortfolioValue: equity.String(), LastEquity: last.String(),
		LongMarketValue: (equity - f.Cash).String(), ShortMarketValue: "0",
		InitialMargin: "0", MaintenanceMargin: "0", LastMaintenanceMargin: "0", SMA: "0", AccruedFees: "0",
		Multiplier:  "1",
		BalanceAsOf: m.Previous.Open.Format(time.DateOnly),
		CreatedAt:   timestamp(s.books.Account.CreatedAt),
	}, nil
}

type position struct {
	AssetID                string `json:"asset_id"`
	Symbol                 string `json:"symbol"`
	Exchange               string `json:"exchange"`
	AssetClass             string `json:"asset_class"`
	AssetMarginable        bool   `json:"asset_marginable"` //nolint:misspell // Alpaca's word
	Qty                    string `json:"qty"`
	QtyAvailable           string `json:"qty_available"`
	AvgEntryPrice          string `json:"avg_entry_price"`
	Side                   string `json:"side"`
	MarketValue            string `json:"market_value"`
	CostBasis              string `json:"cost_basis"`
	UnrealizedPL           string `json:"unrealized_pl"`
	UnrealizedPLPC         string `json:"unrealized_plpc"`
	UnrealizedIntradayPL   string `json:"unrealized_intraday_pl"`
	UnrealizedIntradayPLPC string `json:"unrealized_intraday_plpc"`
	CurrentPrice           string `json:"current_price"`
	LastdayPrice           string `json:"lastday_price"`
	ChangeToday            string `json:"change_today"`
}

func (s *Server) getPositions(r *http.Request) (any, error) {
	now := s.now()
	_, positions, err := s.books.Statement(r.Context(), now)
	m := s.exchange.Moment(now)
	list := make([]position, len(positions))
	for i, p := range positions {
		list[i] = s.position(p, m)
	}
	return list, err
}

func (s *Server) getPosition(r *http.Request) (any, error) {
	symbol := r.PathValue("asset")
	if l := s.exchange.Find(symbol); l != nil {
		symbol = l.Symbol
	}
	now := s.now()
	_, positions, err := s.books.Statement(r.Context(), now)
	if err != nil {
		return nil, err
	}
	for _, p := range positions {
		if p.Symbol == symbol {
			return s.position(p, s.exchange.Moment(now)), nil
		}
	}
	return nil, apierror.NotFound("position does not exist")
}

type valuation struct {
	price, lastPrice money.Price // now, and at the close of the session before
	value, lastValue money.USD
}

// value values a position: at its cost when the stock has left the catalog or the value
// overflows, since it then has no price.
func (s *Server) value(p books.Position, m exchange.Moment) valuation {
	atCost := valuation{value: p.Cost, lastValue: p.Cost}
	l := s.exchange.BySymbol(p.Symbol)
	if l == nil {
		return atCost
	}
	m = s.exchange.MomentOf(l, m)
	last := s.exchange.Price(l, m.Previous.Close)
	v := valuation{
		price:     s.exchange.Price(l, m.Trade),
		lastPrice: s.exchange.Adjusted(l, last, m.Previous.Close, m.Trade),
	}
	var nowErr, lastErr error
	v.value, nowErr = money.Value(p.Qty, v.price, money.HalfAway)
	v.lastValue, lastErr = money.Value(p.Qty, v.lastPrice, money.HalfAway)
	if nowErr != nil || lastErr != nil {
		return atCost
	}
	return v
}

func (s *Server) position(p books.Position, m exchange.Moment) position {
	v := s.value(p, m)
	exchangeName, assetID := "", exchange.AssetID(p.Symbol)
	if l := s.exchange.BySymbol(p.Symbol); l != nil {
		exchangeName, assetID = l.Exchange, l.ID
	}
	average, err := books.AveragePrice(p.Cost, p.Qty)
	if err != nil {
		average = v.price
	}
	return position{
		AssetID: assetID, Symbol: p.Symbol, Exchange: exchangeName, AssetClass: assetClass,
		Qty: p.Qty.String(), QtyAvailable: (p.Qty - p.Held).String(), Side: "long",
		AvgEntryPrice: average.String(),
		CostBasis:     p.Cost.String(), MarketValue: v.value.String(),
		CurrentPrice: v.price.String(), LastdayPrice: v.lastPrice.String(),
		UnrealizedPL: (v.value - p.Cost).String(), UnrealizedPLPC: ratio(v.value-p.Cost, p.Cost),
		UnrealizedIntradayPL:   (v.value - v.lastValue).String(),
		UnrealizedIntradayPLPC: ratio(v.value-v.lastValue, v.lastValue),
		ChangeToday:            ratio(v.price-v.lastPrice, v.lastPrice),
	}
}

// ratio returns part/whole as a signed decimal with six places, and "0" when the whole is 0.
func ratio[Q ~int64](part, whole Q) string {
	sign := money.USD(1)
	if part < 0 {
		sign, part = -1, -part
	}
	const million = 1_000_000 // as millionths of a dollar, the ratio prints as a decimal
	n, err := money.MulDiv(int64(part), million, int64(whole), money.HalfAway)
	if err != nil {
		return "0"
	}
	return (sign * money.USD(n)).String()
}
