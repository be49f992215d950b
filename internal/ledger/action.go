package ledger

import (
	"context"
	"fmt"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// readActions reads what corporate actions changed, and the booked shares.
func (t *totals) readActions(ctx context.Context, source Source) (err error) {
	if t.switches, err = source.Switches(ctx); err != nil {
		return err
	}
	if t.receipts, err = source.Receipts(ctx); err != nil {
		return err
	}
	if t.corrections, err = source.Corrections(ctx); err != nil {
		return err
	}
	stocks, err := source.Stocks(ctx)
	if err != nil {
		return err
	}
	if err := t.bookAcknowledged(); err != nil {
		return err
	}
	ids := make(map[string]rewards.AssetID)
	for id, symbol := range t.symbols {
		ids[symbol] = id
	}
	for _, b := range stocks {
		s, err := t.stock(b.AssetID)
		if err != nil {
			return err
		}
		s.booked, s.house = b.Booked, b.House
	}
	for _, w := range t.switches {
		if err := t.change(w.AssetID, w.Position-w.Booked); err != nil {
			return err
		}
		if w.Target != 0 {
			if err := t.change(w.Target, w.TargetPosition-w.TargetBooked); err != nil {
				return err
			}
		}
	}
	for _, c := range t.corrections {
		if err := t.change(ids[c.Symbol], c.Change); err != nil {
			return err
		}
	}
	for _, o := range t.acknowledged {
		if s := t.stocks[o.AssetID]; s != nil && o.bookedBy == 0 {
			s.house += o.FilledQty
		}
	}
	return nil
}

func (t *totals) change(asset rewards.AssetID, by money.Shares) error {
	s, err := t.stock(asset)
	if err == nil {
		s.filled, err = money.AddShares(s.filled, by)
	}
	return err
}

// writeActions writes a transaction for each switch that changed something, for each receipt of
// cash, for each correction, and for the cash that the broker paid for fractions.
func writeActions(ctx context.Context, j *journal, source Source, t *totals) error {
	for _, w := range t.switches {
		e := &exchange{Switch: w, journal: j, source: t.symbols[w.AssetID], target: t.symbols[w.Target]}
		if err := source.Effects(ctx, w.Number, e.write); err != nil {
			return err
		}
		if err := e.end(t.houseCost[w.AssetID]); err != nil {
			return err
		}
		writeBooked(j, t, w)
		if e.begun {
			t.note(w.At)
		}
	}
	for _, c := range t.corrections {
		j.header(c.At, c.ClientOrderID, "corrected by the broker")
		j.posting(custody, atCost(c.Change, c.Symbol, 0))
		j.posting(house, atCost(-c.Change, c.Symbol, 0))
		t.note(c.At)
	}
	for _, r := range t.receipts {
		if err := writeReceipt(ctx, j, source, r, t.symbols[r.AssetID]); err != nil {
			return err
		}
		t.note(r.At)
	}
	fractions, err := source.CashInLieu(ctx)
	for _, c := range fractions {
		j.header(c.At, "", "cash for a fraction of a share of "+clean(c.Symbol))
		j.tag("activity", c.ActivityID)
		j.posting(cash, dollars(c.Net))
		j.posting(income, dollars(-c.Net))
		t.note(c.At)
	}
	return err
}

// stake is shares at what they cost.
type stake struct {
	shares money.Shares
	cost   money.USD
}

// exchange is the transaction of a switch: each holding goes out at its cost before, and comes in
// at its cost after. In custody the sums do the same.
type exchange struct {
	rewards.Switch
	*journal

	source, target string // symbols
	begun          bool
	out, in, given stake     // of the users
	dollars        money.USD // the sum of all postings' cost
}

// write writes what the switch did to a holding.
func (e *exchange) write(x rewards.Effect) (err error) {
	was, is := stake{x.Before, x.BasisBefore}, stake{x.After, x.BasisAfter}
	symbol := e.source
	if x.AssetID == e.AssetID {
		err = sum(&e.out, was, 1)
		if err == nil {
			err = sum(&e.in, is, 1)
		}
	} else {
		symbol = e.target
		err = sum(&e.given, is, 1)
		if err == nil {
			err = sum(&e.given, was, -1)
		}
	}
	if err != nil {
		return err
	}
	return e.move(userAccount(x.AppID, x.UserID), symbol, was, is, -1)
}

// sum adds a stake to a sum. It fails with money.ErrOverflow.
func sum(into *stake, s stake, sign int64) (err error) {
	if into.shares, err = money.AddShares(into.shares, money.Shares(sign)*s.shares); err == nil {
		into.cost, err = money.AddUSD(into.cost, money.USD(sign)*s.cost)
	}
	return err
}

// move posts the change of an account: the difference if it can carry the cost, and else all
// shares out and in. A cost without shares cannot be posted. The sign is -1 for shares owed.
func (e *exchange) move(account, symbol string, was, is stake, sign int64) error {
	by := stake{is.shares - was.shares, is.cost - was.cost}
	switch {
	case by.shares == 0 && by.cost == 0:
		return nil
	case by.shares > 0 && by.cost >= 0, by.shares < 0 && by.cost <= 0:
		return e.post(account, symbol, by, sign)
	}
	if err := e.post(account, symbol, was, -sign); err != nil {
		return err
	}
	return e.post(account, symbol, is, sign)
}

func (e *exchange) post(account, symbol string, by stake, sign int64) (err error) {
	if by.shares == 0 {
		return nil
	}
	if !e.begun {
		e.begun = true
		verb := "corporate action "
		if e.IsUndo() {
			verb = "undo of the corporate action "
		}
		e.header(e.At, "", verb+clean(e.ActionID))
	}
	cost := max(by.cost, -by.cost)
	e.posting(account, atCost(money.Shares(sign)*by.shares, symbol, cost))
	if (by.shares < 0) != (sign < 0) {
		cost = -cost
	}
	e.dollars, err = money.AddUSD(e.dollars, cost)
	return err
}

// end posts what the house gets, what is not distributed yet, and custody. cost is what the
// house's shares of the source cost; they lose it when the stock ends.
func (e *exchange) end(cost generationCost) error {
	changed := e.Position - e.Booked - (e.Swept.After - e.Swept.Before)
	given := e.TargetPosition - e.TargetBooked - e.Swept.Given
	rest := house
	if e.SweptAt.IsZero() {
		rest = actions
	}
	lost := stake{shares: -changed}
	if e.Ends && e.Undoes == 0 && changed < 0 && rest == house {
		lost.cost = cost.before(e.Generation)
	}
	was := stake{e.Booked, e.out.cost + lost.cost}
	is := stake{was.shares + (e.in.shares - e.out.shares) + changed, e.in.cost}
	for _, p := range []struct {
		account, symbol string
		was, is         stake
		sign            int64
	}{
		{rest, e.source, lost, stake{}, -1},
		{rest, e.target, stake{}, stake{shares: given}, -1},
		{custody, e.source, was, is, 1},
		{custody, e.target, stake{}, stake{e.given.shares + given, e.given.cost}, 1},
	} {
		if err := e.move(p.account, p.symbol, p.was, p.is, p.sign); err != nil {
			return err
		}
	}
	if e.dollars != 0 { // cost without shares
		e.posting(actions, dollars(-e.dollars))
	}
	return nil
}

// generationCost is what the house's shares of a stock cost, by the generation of the stock in
// which they were bought.
type generationCost map[int64]money.USD

// before returns the cost of what was bought before a generation, and forgets it. What the house got
// for its own shares may exceed what it paid.
func (c generationCost) before(generation int64) (sum money.USD) {
	for g, cost := range c {
		if g < generation {
			sum += cost
			delete(c, g)
		}
	}
	return max(0, sum)
}

// writeReceipt books cash that the broker paid: to the users, and what is left to the house.
func writeReceipt(ctx context.Context, j *journal, source Source, r rewards.Receipt, symbol string) error {
	j.header(r.At, "", "cash of the corporate action "+clean(r.ActionID)+" of "+symbol)
	j.tag("activity", r.ActivityID)
	j.posting(cash, dollars(r.Net))
	var kept money.USD
	err := source.Effects(ctx, r.Switch, func(x rewards.Effect) (err error) {
		switch {
		case x.Cash == 0:
		case r.Kept(x):
			kept, err = money.AddUSD(kept, x.Cash)
		default:
			tag := ""
			if !x.RewardID.IsZero() {
				tag = "  ; reward: " + x.RewardID.String()
			}
			j.posting(owedTo(x.AppID, x.UserID), dollars(-x.Cash)+tag)
		}
		return err
	})
	if err != nil {
		return err
	}
	rest := income
	if r.SharedAt.IsZero() {
		rest = actions
	}
	if left := r.Net - r.Shared + kept; left != 0 {
		j.posting(rest, dollars(-left))
	}
	if r.Shared > r.Net {
		return fmt.Errorf("the action %s shared more than the broker paid", r.ActionID)
	}
	return nil
}
