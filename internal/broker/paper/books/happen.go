package books

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/broker/paper/faults"
	"stockrewards/internal/money"
)

// stage is a step of a corporate action. Each has a due time and decides the next one.
type stage string

const (
	stageCount   stage = "count"   // a cash dividend: counts the shares, at 20:00 of the session before
	stageHappen  stage = "happen"  // 02:30: prices and listings change
	stageConvert stage = "convert" // positions change, at once unless a fault delays it
	stagePay     stage = "pay"     // cash comes
	stageRestore stage = "restore" // a fraction returns, by a fault
	stageEnded   stage = ""
)

func (a *Action) next(s stage, at time.Time) { a.stage, a.dueAt = s, at }

func (a *Action) end() { a.next(stageEnded, time.Time{}) }

// errWithdrawn is the error of an action that can't happen and is withdrawn instead.
var errWithdrawn = errors.New("the corporate action cannot happen")

// advance carries out the action's stage, as of the time at which it is due. An action that
// cannot happen, because a number overflows or a symbol was taken, is withdrawn; one that
// has happened already ends there.
func (b *Books) advance(ctx context.Context, tx *sql.Tx, a *Action) error {
	t, err := ReadTerms(a.Type, a.Terms)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "SAVEPOINT action"); err != nil {
		return err
	}
	before := a.State
	err = b.stage(ctx, tx, a, t)
	if errors.Is(err, errWithdrawn) || errors.Is(err, errCannotFill) || errors.Is(err, money.ErrOverflow) {
		if _, err := tx.ExecContext(ctx, "ROLLBACK TO action"); err != nil {
			return err
		}
		if a.State = before; before == ActionAnnounced {
			a.State = ActionWithdrawn
		}
		a.end()
		err = a.update(ctx, tx)
	}
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "RELEASE action")
	return err
}

// stage carries out one stage and stores the next one.
func (b *Books) stage(ctx context.Context, tx *sql.Tx, a *Action, t Terms) (err error) {
	now, at := a.stage, a.dueAt
	a.end()
	switch now {
	case stageCount:
		err = b.count(ctx, tx, a)
		a.next(stageHappen, a.HappensAt)
	case stageHappen:
		err = b.happen(ctx, tx, a, t)
	case stageConvert:
		err = b.convert(ctx, tx, a, t, at)
	case stagePay:
		err = b.pay(ctx, tx, a, t, at)
	case stageRestore:
		err = b.restore(ctx, tx, a, at)
	case stageEnded:
	}
	if err != nil {
		return err
	}
	return a.update(ctx, tx)
}

// count notes how many shares are held, and the stock's symbol of that time.
func (b *Books) count(ctx context.Context, tx *sql.Tx, a *Action) error {
	if l := b.Exchange.ByID(a.AssetID); l != nil {
		a.Symbol = l.Symbol
	}
	p, err := readPosition(ctx, tx, a.Symbol)
	a.counted = p.Qty
	return err
}

// happen changes prices and listings. A cash dividend only waits for its payment then.
func (b *Books) happen(ctx context.Context, tx *sql.Tx, a *Action, t Terms) error {
	a.State = ActionHappened
	if a.Type == CashDividend {
		a.next(stagePay, a.delayed(b.payAt(a, t)))
		return nil
	}
	if err := b.count(ctx, tx, a); err != nil {
		return err
	}
	source := b.Exchange.ByID(a.AssetID)
	if source == nil || source.Gone {
		return errWithdrawn
	}
	if _, err := a.result(t); err != nil {
		return err
	}
	if MovesPrice(a.Type) { // books of version 3 lack the ratio of a stock dividend
		a.OldRate, a.NewRate = t.OldRate, t.NewRate
	}
	if err := b.relist(ctx, tx, a, t, source); err != nil {
		return err
	}
	a.next(stageConvert, a.delayed(a.HappensAt))
	return nil
}

// relist renames the stock, takes it from the market, or lists the stock that its holders get.
func (b *Books) relist(ctx context.Context, tx *sql.Tx, a *Action, t Terms, source *exchange.Listing) error {
	if GivesStock(a.Type) {
		if err := b.listGiven(ctx, tx, a, t, source); err != nil {
			return err
		}
	}
	r := source.Relist()
	switch {
	case removes(a.Type):
		r.Gone = true
		if err := cancelOpen(ctx, tx, a.Symbol, a.HappensAt); err != nil {
			return err
		}
	case !GivesStock(a.Type) && t.NewSymbol != "":
		if b.Exchange.BySymbol(t.NewSymbol) != nil {
			return errWithdrawn
		}
		r.Symbol = t.NewSymbol
		_, err := tx.ExecContext(ctx, "UPDATE orders SET symbol = ?2 WHERE due_at IS NOT NULL AND symbol = ?1",
			a.Symbol, r.Symbol)
		if err != nil {
			return err
		}
		if _, struck := a.Suffers(faults.NewAssetID); struck {
			price := b.Exchange.Price(source, a.HappensAt)
			fresh := b.Exchange.NewListing(r.Symbol, r.Exchange, price, a.HappensAt, a.ID)
			r.Symbol, r.Gone = source.Symbol, true
			if err := list(ctx, tx, fresh); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	return list(ctx, tx, r)
}

// listGiven lists the stock that holders of the source get, when it is not listed yet. A
// merger keeps the value of their shares; a spin-off takes a fifth of it, or what the new
// stock is worth at its own price.
func (b *Books) listGiven(ctx context.Context, tx *sql.Tx, a *Action, t Terms, source *exchange.Listing) error {
	given := b.Exchange.BySymbol(t.NewSymbol)
	var opening money.Price
	switch {
	case given == nil:
		const part = 5
		worth := b.Exchange.Price(source, a.HappensAt)
		if a.Type == SpinOff {
			worth /= part
		} else {
			worth = max(worth-t.Cash, worth/part)
		}
		price, err := money.MulDiv(int64(worth), t.OldRate, t.NewRate, money.HalfAway)
		if err != nil {
			return err
		}
		r := b.Exchange.NewListing(t.NewSymbol, source.Exchange, money.Price(price), a.HappensAt, a.ID)
		if err := list(ctx, tx, r); err != nil {
			return err
		}
		opening = b.Exchange.Opening(r)
	case given.Gone:
		return errWithdrawn
	default:
		opening = b.Exchange.Price(given, a.HappensAt)
	}
	if a.Type == SpinOff {
		a.OldRate, a.NewRate = b.Exchange.SpunOff(source, t.worth(opening), a.HappensAt)
	}
	return nil
}

// payAt returns when the cash of an action comes.
func (b *Books) payAt(a *Action, t Terms) time.Time {
	day, err := time.Parse(time.DateOnly, t.PayDate)
	if err != nil {
		return a.HappensAt
	}
	if _, at := b.Exchange.Overnight(day); at.After(a.HappensAt) {
		return at
	}
	return a.HappensAt
}
