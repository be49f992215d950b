package paper

import (
	"context"
	"database/sql"
	"net/http"
	"time"

	"stockrewards/internal/money"
)

// wireAccount is an account as Alpaca writes one: a cash account, without margin.
type wireAccount struct {
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

func (b *Brokerage) getAccount(r *http.Request) (any, error) {
	now := b.clock.micros()
	f, positions, err := b.statement(r.Context(), now)
	if err != nil {
		return nil, err
	}
	m := b.market.moment(now)
	value, last := f.cash, f.cash
	for _, p := range positions {
		v := b.valuation(p, m)
		if value, err = money.AddUSD(value, v.value); err != nil {
			return nil, err
		}
		if last, err = money.AddUSD(last, v.lastValue); err != nil {
			return nil, err
		}
	}
	power := f.buyingPower().String()
	return wireAccount{
		ID: b.books.accountID, AccountNumber: b.books.accountNumber,
		Status: "ACTIVE", CryptoStatus: "INACTIVE", Currency: "USD",
		Cash: f.cash.String(), BuyingPower: power, RegtBuyingPower: power, NonMarginable: power,
		DaytradingBuyingPower: "0", OptionsBuyingPower: "0",
		Equity: value.String(), PortfolioValue: value.String(), LastEquity: last.String(),
		LongMarketValue: (value - f.cash).String(), ShortMarketValue: "0",
		InitialMargin: "0", MaintenanceMargin: "0", LastMaintenanceMargin: "0", SMA: "0", AccruedFees: "0",
		Multiplier:  "1",
		BalanceAsOf: m.previous.open.Format(time.DateOnly),
		CreatedAt:   timestamp(b.books.createdAt),
	}, nil
}

// statement is the account's dollars and shares, of one instant and up to date.
func (b *Brokerage) statement(ctx context.Context, now time.Time) (f funds, list []position, err error) {
	if err := b.progress(ctx, now); err != nil {
		return f, nil, err
	}
	err = b.books.view(ctx, func(tx *sql.Tx) error {
		if f, err = readFunds(ctx, tx); err != nil {
			return err
		}
		list, err = readPositions(ctx, tx)
		return err
	})
	return f, list, err
}

// wirePosition is a position as Alpaca writes one.
type wirePosition struct {
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

func (b *Brokerage) getPositions(r *http.Request) (any, error) {
	now := b.clock.micros()
	_, positions, err := b.statement(r.Context(), now)
	if err != nil {
		return nil, err
	}
	held, err := b.heldShares(r.Context())
	if err != nil {
		return nil, err
	}
	m := b.market.moment(now)
	list := make([]wirePosition, len(positions))
	for i, p := range positions {
		list[i] = b.wirePosition(p, held[p.symbol], m)
	}
	return list, nil
}

func (b *Brokerage) getPosition(r *http.Request) (any, error) {
	symbol := r.PathValue("asset")
	if l := b.market.find(symbol); l != nil {
		symbol = l.Symbol
	}
	now := b.clock.micros()
	_, positions, err := b.statement(r.Context(), now)
	if err != nil {
		return nil, err
	}
	held, err := b.heldShares(r.Context())
	if err != nil {
		return nil, err
	}
	for _, p := range positions {
		if p.symbol == symbol {
			return b.wirePosition(p, held[p.symbol], b.market.moment(now)), nil
		}
	}
	return nil, notFound("position does not exist")
}

// heldShares is how many shares open sells hold, by symbol.
func (b *Brokerage) heldShares(ctx context.Context) (map[string]money.Shares, error) {
	rows, err := b.books.reader.QueryContext(ctx, `SELECT symbol, sum(hold_qty) FROM orders
		WHERE due_at IS NOT NULL AND side = 'sell' GROUP BY symbol`)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	held := make(map[string]money.Shares)
	for rows.Next() {
		var symbol string
		var qty int64
		if err := rows.Scan(&symbol, &qty); err != nil {
			return nil, err
		}
		held[symbol] = money.Shares(qty)
	}
	return held, rows.Err()
}
