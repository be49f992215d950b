package books

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"stockrewards/internal/broker/paper/faults"
	"stockrewards/internal/money"
)

// CanStrike returns which kinds of faults can strike an action of this type: each once, and
// of those about fractions only one.
func CanStrike(action string, t Terms) func(kind string, struck []faults.Fault) bool {
	fractions := []string{faults.CashInLieu, faults.FractionReversed, faults.RoundUp}
	return func(kind string, struck []faults.Fault) bool {
		for _, f := range struck {
			if f.Kind == kind || slices.Contains(fractions, f.Kind) && slices.Contains(fractions, kind) {
				return false
			}
		}
		switch kind {
		case faults.WrongRatio, faults.Revised:
			return action != NameChange && action != WorthlessRemoval
		case faults.ReversedRatio:
			return t.OldRate > 0 && action != StockDividend
		case faults.CashInLieu, faults.FractionReversed, faults.RoundUp, faults.WrongDirection:
			return t.OldRate > 0
		case faults.NewAssetID:
			return t.NewSymbol != "" && !GivesStock(action)
		}
		return true
	}
}

// delayed returns when a position or the cash of a payment changes that is due at a time.
func (a *Action) delayed(at time.Time) time.Time {
	late, _ := a.Suffers(faults.LatePosition)
	return at.Add(late.By)
}

// inLieu takes the fraction of a new position away and pays for it, when a fault says so.
// The position was booked with all shares of the result.
func (b *Books) inLieu(
	ctx context.Context, tx *sql.Tx, a *Action, symbol string, result money.Shares, at time.Time,
) error {
	_, paid := a.Suffers(faults.CashInLieu)
	_, returns := a.Suffers(faults.FractionReversed)
	l := b.Exchange.BySymbol(symbol)
	if l == nil || !paid && !returns {
		return nil
	}
	p, err := readPosition(ctx, tx, symbol)
	if err != nil {
		return err
	}
	fraction := min(result%money.Share, p.Qty)
	if fraction == 0 {
		return nil
	}
	cash, err := cents(int64(fraction), int64(b.Exchange.Price(l, a.HappensAt)), sharesByRate)
	if err != nil {
		return err
	}
	funds, err := readFunds(ctx, tx)
	if err != nil {
		return err
	}
	if p, err = p.sold(fill{qty: fraction, value: cash}, funds.Cash); err != nil {
		return err
	}
	if err := writePosition(ctx, tx, p); err != nil {
		return err
	}
	return credit(ctx, tx, a, entry{kind: ActivityCash, symbol: symbol, qty: -fraction, net: cash}, at)
}

// restoreLater makes the restoring of a fraction the next stage, when a fault says so.
func (a *Action) restoreLater(at time.Time) {
	if reversed, struck := a.Suffers(faults.FractionReversed); struck {
		a.next(stageRestore, later(at, a.delayed(a.HappensAt).Add(reversed.By)))
	}
}

// restore gives a fraction back and takes its cash, as far as the account has it. It does
// nothing when there was no fraction.
func (b *Books) restore(ctx context.Context, tx *sql.Tx, a *Action, at time.Time) error {
	e := entry{kind: ActivityCash, status: "correct"}
	var qty, net string
	err := tx.QueryRowContext(ctx, `SELECT id, body ->> '$.symbol', body ->> '$.qty', body ->> '$.net_amount'
		FROM activities WHERE type = ?1 AND body ->> '$.group_id' = ?2`, ActivityCash, a.ID).
		Scan(&e.previous, &e.symbol, &qty, &net)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if l := b.Exchange.ByID(a.AssetID); l != nil && e.symbol == a.Symbol {
		e.symbol = l.Symbol // it may have been renamed since
	}
	taken, qtyErr := money.ParseShares(qty)
	paid, netErr := money.ParseUSD(net)
	funds, fundsErr := readFunds(ctx, tx)
	p, err := readPosition(ctx, tx, e.symbol)
	if err := errors.Join(err, qtyErr, netErr, fundsErr); err != nil {
		return err
	}
	e.qty, e.net = -taken, -min(paid, funds.BuyingPower())
	if p, err = p.bought(fill{qty: e.qty, value: -e.net}, -e.net); err != nil {
		return err
	}
	if err := writePosition(ctx, tx, p); err != nil {
		return err
	}
	return credit(ctx, tx, a, e, at)
}
