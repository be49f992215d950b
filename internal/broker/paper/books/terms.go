package books

import (
	"cmp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/money"
)

// one is a rate of 1, in billionths.
const one = int64(money.Share)

// Terms are what a corporate action does to a stock. Rates are billionths, 0 when missing.
type Terms struct {
	NewSymbol        string // the stock's new symbol, or the stock that its holders get; empty for none
	OldRate, NewRate int64  // for OldRate shares there are NewRate: of the stock itself, or of the one that they get
	Cash             money.Price
	TaxRate          int64  // the part of the cash that is withheld
	PayDate          string // of the cash; empty: at once
}

// rate is a JSON number in billionths.
type rate int64

// UnmarshalJSON reads a number with at most nine decimals.
func (r *rate) UnmarshalJSON(b []byte) error {
	n, err := money.ParseShares(string(jsontext.Value(b)))
	*r = rate(n)
	return err
}

// ReadTerms reads the terms of an announcement of some type. The rates must be numbers.
func ReadTerms(kind, announcement string) (Terms, error) {
	var w struct {
		NewSymbol      string `json:"new_symbol"`
		AcquirerSymbol string `json:"acquirer_symbol"`
		OldRate        rate   `json:"old_rate"`
		SourceRate     rate   `json:"source_rate"`
		AcquireeRate   rate   `json:"acquiree_rate"`
		NewRate        rate   `json:"new_rate"`
		AcquirerRate   rate   `json:"acquirer_rate"`
		Rate           rate   `json:"rate"`
		CashRate       rate   `json:"cash_rate"`
		TaxRate        rate   `json:"tax_rate"`
		PayableDate    string `json:"payable_date"`
	}
	err := json.Unmarshal([]byte(announcement), &w)
	t := Terms{
		NewSymbol: w.NewSymbol, PayDate: w.PayableDate, TaxRate: int64(w.TaxRate),
		OldRate: int64(cmp.Or(w.OldRate, w.SourceRate)), NewRate: int64(w.NewRate),
	}
	switch kind {
	case StockDividend:
		t.OldRate, t.NewRate = one, one+int64(w.Rate)
	case StockMerger, StockAndCashMerger:
		t.NewSymbol, t.OldRate, t.NewRate = w.AcquirerSymbol, int64(w.AcquireeRate), int64(w.AcquirerRate)
	}
	if PaysCash(kind) {
		t.Cash = money.Price(cmp.Or(w.CashRate, w.Rate))
	}
	return t, err
}

// MovesPrice reports whether the action divides the stock's price by its ratio.
func MovesPrice(kind string) bool {
	return kind == ForwardSplit || kind == ReverseSplit || kind == StockDividend
}

// removes reports whether the action takes the stock from the market.
func removes(kind string) bool {
	switch kind {
	case StockMerger, CashMerger, StockAndCashMerger, WorthlessRemoval:
		return true
	}
	return false
}

// GivesStock reports whether holders get shares of another stock.
func GivesStock(kind string) bool {
	return kind == SpinOff || kind == StockMerger || kind == StockAndCashMerger
}

// PaysCash reports whether holders get cash.
func PaysCash(kind string) bool {
	return kind == CashDividend || kind == CashMerger || kind == StockAndCashMerger
}

// worth returns the dollars that the stock given for one share is worth, at a price of it.
func (t Terms) worth(price money.Price) money.Price {
	worth, err := money.MulDiv(int64(price), t.NewRate, t.OldRate, money.HalfAway)
	if err != nil {
		return exchange.MaxPrice
	}
	return money.Price(worth)
}
