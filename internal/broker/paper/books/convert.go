package books

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"stockrewards/internal/broker/paper/faults"
	"stockrewards/internal/money"
)

// convert changes positions and writes the activities.
func (b *Books) convert(ctx context.Context, tx *sql.Tx, a *Action, t Terms, at time.Time) error {
	a.restoreLater(at)
	switch a.Type {
	case ForwardSplit, ReverseSplit, StockDividend:
		return b.multiply(ctx, tx, a, t, at)
	case NameChange:
		return b.rename(ctx, tx, a, t, at)
	case SpinOff:
		return b.spinOff(ctx, tx, a, t, at)
	}
	old, err := b.remove(ctx, tx, a, at)
	if err != nil {
		return err
	}
	if t.Cash > 0 {
		a.next(stagePay, later(at, b.payAt(a, t)))
	}
	if !GivesStock(a.Type) || a.counted == 0 {
		return nil
	}
	return b.give(ctx, tx, a, t, entry{}, old.Cost, at)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// result returns what the counted shares become by the ratio, in billionths rounded down.
// Without a ratio they stay.
func (a *Action) result(t Terms) (money.Shares, error) {
	if t.OldRate == 0 {
		return a.counted, nil
	}
	if _, wrong := a.Suffers(faults.WrongDirection); wrong {
		t.OldRate, t.NewRate = t.NewRate, t.OldRate
	}
	qty, err := money.MulDiv(int64(a.counted), t.NewRate, t.OldRate, money.Down)
	if _, up := a.Suffers(faults.RoundUp); up && err == nil && qty%one > 0 {
		qty += one - qty%one
	}
	return money.Shares(qty), err
}

// multiplied reports whether the action has multiplied the position of its stock.
func (a *Action) multiplied() bool {
	switch a.Type {
	case ForwardSplit, ReverseSplit, StockDividend:
		return a.State == ActionHappened && a.stage != stageConvert
	default:
		return false
	}
}

// multiply changes the shares that were counted by the ratio. Shares that were traded since
// then are new ones already.
func (b *Books) multiply(ctx context.Context, tx *sql.Tx, a *Action, t Terms, at time.Time) error {
	qty, err := a.result(t)
	if err != nil || a.counted == 0 {
		return err
	}
	p, err := readPosition(ctx, tx, a.Symbol)
	if err != nil {
		return err
	}
	e := entry{symbol: a.Symbol, qty: max(qty-a.counted, -p.Qty)}
	e.kind, e.subtype = a.types()
	if p.Qty, err = money.AddShares(p.Qty, e.qty); err != nil {
		return err
	}
	if err := writePosition(ctx, tx, p); err != nil {
		return err
	}
	if err := a.activity(e, at).insert(ctx, tx); err != nil {
		return err
	}
	if t.NewSymbol != "" {
		if err := b.rename(ctx, tx, a, t, at); err != nil {
			return err
		}
		a.Symbol = t.NewSymbol
	}
	return b.inLieu(ctx, tx, a, a.Symbol, qty, at)
}

// rename moves the position to the new symbol.
func (b *Books) rename(ctx context.Context, tx *sql.Tx, a *Action, t Terms, at time.Time) error {
	old, err := readPosition(ctx, tx, a.Symbol)
	if err != nil || old.Qty == 0 {
		return err
	}
	e := entry{kind: ActivityName, subtype: "SNC", symbol: old.Symbol, qty: -old.Qty}
	if err := book(ctx, tx, a, Position{Symbol: old.Symbol}, e, at); err != nil {
		return err
	}
	p, err := readPosition(ctx, tx, t.NewSymbol) // bought since the rename, when the position is late
	if err != nil {
		return err
	}
	if p, err = p.bought(fill{qty: old.Qty, value: old.Cost}, old.Cost); err != nil {
		return err
	}
	e.symbol, e.qty = p.Symbol, old.Qty
	return book(ctx, tx, a, p, e, at)
}

// remove takes the whole position away and returns it.
func (b *Books) remove(ctx context.Context, tx *sql.Tx, a *Action, at time.Time) (Position, error) {
	p, err := readPosition(ctx, tx, a.Symbol)
	if err != nil || p.Qty == 0 {
		return p, err
	}
	e := entry{symbol: p.Symbol, qty: -p.Qty}
	e.kind, e.subtype = a.types()
	return p, book(ctx, tx, a, Position{Symbol: p.Symbol}, e, at)
}

// spinOff gives the new stock. Its part of the cost is that of its worth.
func (b *Books) spinOff(ctx context.Context, tx *sql.Tx, a *Action, t Terms, at time.Time) error {
	source, given := b.Exchange.ByID(a.AssetID), b.Exchange.BySymbol(t.NewSymbol)
	if source == nil || given == nil {
		return errWithdrawn
	}
	if a.counted == 0 {
		return nil
	}
	p, err := readPosition(ctx, tx, a.Symbol)
	if err != nil {
		return err
	}
	sourcePrice, price := b.Exchange.Price(source, a.HappensAt), b.Exchange.Price(given, a.HappensAt)
	worth := t.worth(price)
	cost, err := money.MulDiv(int64(p.Cost), int64(worth), int64(worth+sourcePrice), money.Down)
	if err != nil {
		return err
	}
	p.Cost -= money.USD(cost)
	e := entry{symbol: a.Symbol, price: sourcePrice}
	e.kind, e.subtype = a.types()
	if err := book(ctx, tx, a, p, e, at); err != nil {
		return err
	}
	return b.give(ctx, tx, a, t, entry{price: price}, money.USD(cost), at)
}

// give adds the shares of the stock that holders get, with their cost.
func (b *Books) give(
	ctx context.Context, tx *sql.Tx, a *Action, t Terms, e entry, cost money.USD, at time.Time,
) (err error) {
	if e.qty, err = a.result(t); err != nil {
		return err
	}
	p, err := readPosition(ctx, tx, t.NewSymbol)
	if err != nil {
		return err
	}
	if p, err = p.bought(fill{qty: e.qty, value: cost}, cost); err != nil {
		return err
	}
	e.symbol = t.NewSymbol
	e.kind, e.subtype = a.types()
	if err := book(ctx, tx, a, p, e, at); err != nil {
		return err
	}
	return b.inLieu(ctx, tx, a, e.symbol, e.qty, at)
}

// book stores a position and the activity that changed it.
func book(ctx context.Context, tx *sql.Tx, a *Action, p Position, e entry, at time.Time) error {
	if err := writePosition(ctx, tx, p); err != nil {
		return err
	}
	return a.activity(e, at).insert(ctx, tx)
}

// pay books the cash for the shares that were counted, and withholds its tax.
func (b *Books) pay(ctx context.Context, tx *sql.Tx, a *Action, t Terms, at time.Time) error {
	a.restoreLater(at)
	if a.counted == 0 {
		return nil
	}
	gross, err := cents(int64(a.counted), int64(t.Cash), sharesByRate)
	if err != nil {
		return err
	}
	e := entry{symbol: a.Symbol, net: gross, perShare: t.Cash, date: t.PayDate}
	e.kind, e.subtype = a.types()
	if a.Type == CashDividend {
		e.qty = a.counted // as Alpaca: the shares that were paid for
	}
	if err := credit(ctx, tx, a, e, at); err != nil || t.TaxRate == 0 {
		return err
	}
	tax, taxErr := cents(int64(gross), t.TaxRate, cashByRate)
	perShare, perErr := money.MulDiv(int64(t.Cash), t.TaxRate, one, money.HalfAway)
	if err := errors.Join(taxErr, perErr); err != nil {
		return err
	}
	e.kind, e.subtype, e.net, e.perShare = ActivityTax, "", -tax, -money.Price(perShare)
	return credit(ctx, tx, a, e, at)
}

// The divisors from a product to cents.
const (
	sharesByRate = 10_000_000_000_000_000 // billionths by billionths
	cashByRate   = 10_000_000_000_000     // millionths by billionths
)

// cents multiplies two numbers to dollars, rounded half up to the cent.
func cents(a, b, divisor int64) (money.USD, error) {
	n, err := money.MulDiv(a, b, divisor, money.HalfAway)
	if err != nil {
		return 0, err
	}
	n, err = money.MulDiv(n, int64(money.Cent), 1, money.Down)
	return money.USD(n), err
}

// credit books the entry's cash, which may be negative.
func credit(ctx context.Context, tx *sql.Tx, a *Action, e entry, at time.Time) error {
	funds, err := readFunds(ctx, tx)
	if err != nil {
		return err
	}
	if _, err := money.AddUSD(funds.Cash, e.net); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE account SET cash = cash + ?1", e.net); err != nil {
		return err
	}
	return a.activity(e, at).insert(ctx, tx)
}
