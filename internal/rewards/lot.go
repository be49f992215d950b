package rewards

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"stockrewards/internal/money"
)

// AwardLot is what a user has of one stock by one award. Parts that were bought, reversals and corporate
// actions change it. The lots of a user's awards add up to the user's holding.
type AwardLot struct {
	AssetID AssetID
	Shares  money.Shares // now
	Basis   money.USD    // cost basis now

	bought money.Shares // shares when the award's era began
	cost   money.USD    // cost basis then
}

// AwardLots are the lots of one award. An era begins when the award is executed and at each corporate
// action of one of its stocks. A reversal takes by the figures of its era (additions, section 1).
type AwardLots struct {
	List []AwardLot // in the order in which the award got the stocks
	Main AssetID    // the award's stock, or its successor after a merger

	amount   money.USD // not reversed when the era began
	reversed money.USD // in the era
}

// Part is a part of an award that an order bought.
type Part struct {
	OrderID    OrderID
	AssetID    AssetID
	Generation int64 // of the asset when it was booked
	Shares     money.Shares
}

// Back is a completed reversal of an executed award.
type Back struct {
	Amount money.USD
	After  int64 // number of the last switch before it
	At     time.Time
}

// InOrder returns the reversals in the order in which they were completed.
func InOrder(list []Back) []Back {
	slices.SortStableFunc(list, func(a, b Back) int {
		return cmp.Or(cmp.Compare(a.After, b.After), a.At.Compare(b.At))
	})
	return list
}

// AwardBook is what is recorded about an award that is not failed.
type AwardBook struct {
	ID       RewardID
	Amount   money.USD
	Executed bool   // its last part completed it
	Parts    []Part // in any order
	Backs    []Back // in order
}

// Taking is what a reversal takes of one stock.
type Taking struct {
	AssetID  AssetID
	Quantity money.Shares
	Basis    money.USD
}

// lot returns the lot of a stock, and adds it if it is missing.
func (l *AwardLots) lot(asset AssetID) *AwardLot {
	at := slices.IndexFunc(l.List, func(l AwardLot) bool { return l.AssetID == asset })
	if at < 0 {
		at = len(l.List)
		l.List = append(l.List, AwardLot{AssetID: asset})
	}
	return &l.List[at]
}

// Of returns what the award has of a stock.
func (l *AwardLots) Of(asset AssetID) AwardLot {
	for _, lot := range l.List {
		if lot.AssetID == asset {
			return lot
		}
	}
	return AwardLot{AssetID: asset}
}

// buy adds a part; the last one brings the whole cost basis and begins the first era. It fails with
// money.ErrOverflow.
func (l *AwardLots) buy(p Part, amount money.USD, last bool) (err error) {
	lot := l.lot(p.AssetID)
	if lot.Shares, err = money.AddShares(lot.Shares, p.Shares); err != nil || !last {
		return err
	}
	lot.Basis += amount
	l.beginEra(amount)
	return nil
}

// beginEra makes later reversals count from here. left is the amount that is not reversed.
func (l *AwardLots) beginEra(left money.USD) {
	l.amount, l.reversed = left, 0
	for i := range l.List {
		lot := &l.List[i]
		lot.bought, lot.cost = lot.Shares, lot.Basis
	}
}

// Take takes an amount back and returns what it takes of each stock. All reversals of an era have
// taken floor(bought x reversed / amount) of each stock, and the last one takes the rest. Of the cost
// basis the main stock gives what the others do not. Where no basis is left, none is taken. Take
// fails with money.ErrOverflow, also when less is left.
func (l *AwardLots) Take(amount money.USD) ([]Taking, error) {
	if amount <= 0 || amount > l.amount-l.reversed {
		return nil, money.ErrOverflow
	}
	l.reversed += amount
	takings := make([]Taking, 0, len(l.List))
	main, rest := -1, amount
	for i := range l.List {
		lot := &l.List[i]
		shares, basis, err := lot.after(l.reversed, l.amount)
		if err != nil {
			return nil, err
		}
		t := Taking{AssetID: lot.AssetID, Quantity: lot.Shares - shares, Basis: lot.Basis - basis}
		if lot.AssetID == l.Main {
			main = len(takings)
		} else {
			rest -= t.Basis
		}
		takings = append(takings, t)
	}
	if main >= 0 {
		takings[main].Basis = min(max(rest, 0), l.Of(l.Main).Basis)
		if l.reversed == l.amount {
			takings[main].Basis = l.Of(l.Main).Basis
		}
	}
	for i, t := range takings {
		l.List[i].Shares -= t.Quantity
		l.List[i].Basis -= t.Basis
	}
	return slices.DeleteFunc(takings, func(t Taking) bool { return t.Quantity == 0 && t.Basis == 0 }), nil
}

// after is what reversals of an amount leave of the lot: the era's figures less their share of them.
func (l *AwardLot) after(reversed, amount money.USD) (shares money.Shares, basis money.USD, err error) {
	if reversed == amount {
		return 0, 0, nil
	}
	taken, err := money.Portion(l.bought, reversed, amount)
	if err != nil {
		return 0, 0, err
	}
	cost, err := money.MulDiv(int64(l.cost), int64(reversed), int64(amount), money.Down)
	return l.bought - taken, l.cost - money.USD(cost), err
}

// Copy returns a copy that shares nothing.
func (l *AwardLots) Copy() *AwardLots {
	c := *l
	c.List = slices.Clone(l.List)
	return &c
}

// ReplayBooks returns the lots of a user's awards after the switches, which are in the order of their
// numbers. The books must have every award of the user that holds one of the switches' stocks,
// unless each switch leaves holdings as they are. It fails with money.ErrOverflow.
func ReplayBooks(books []AwardBook, switches []Switch) (map[RewardID]*AwardLots, error) {
	r := replay{
		lots: make(map[RewardID]*AwardLots, len(books)), before: make(map[int64]map[RewardID]snapshot),
		gifts: make(map[RewardID][]gift), undone: make(map[int64]bool),
	}
	for _, b := range books {
		slices.SortStableFunc(b.Parts, func(a, b Part) int { return bytes.Compare(a.OrderID[:], b.OrderID[:]) })
		r.books = append(r.books, &bookmark{AwardBook: b})
		r.lots[b.ID] = &AwardLots{}
		if len(b.Parts) > 0 {
			r.lots[b.ID].Main = b.Parts[0].AssetID
		}
	}
	slices.SortFunc(r.books, func(a, b *bookmark) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	for _, w := range switches {
		if err := r.advance(w); err != nil {
			return nil, err
		}
		if err := r.apply(w, switches); err != nil {
			return nil, err
		}
	}
	return r.lots, r.advance(Switch{})
}

// replay goes over a user's books switch by switch.
type replay struct {
	books  []*bookmark // by award, in order of arrival
	lots   map[RewardID]*AwardLots
	before map[int64]map[RewardID]snapshot // by the number of a switch
	gifts  map[RewardID][]gift             // in order
	undone map[int64]bool                  // the switches that a later one took back
}

// bookmark is how far a replay has read the book of an award.
type bookmark struct {
	AwardBook

	parts, backs int
}

// snapshot is what an award had before a switch, and how many of its parts were read.
type snapshot struct {
	*AwardLots

	parts int
}

// advance reads what was booked before a switch; the zero value reads everything.
func (r *replay) advance(before Switch) error {
	for _, b := range r.books {
		lots := r.lots[b.ID]
		// A reversal comes after the last part.
		all := before.Number == 0 || b.backs < len(b.Backs) && b.Backs[b.backs].After < before.Number
		for b.parts < len(b.Parts) && (all || b.Parts[b.parts].Before(before)) {
			b.parts++
			if err := lots.buy(b.Parts[b.parts-1], b.Amount, b.Executed && b.parts == len(b.Parts)); err != nil {
				return err
			}
		}
		for b.backs < len(b.Backs) && (before.Number == 0 || b.Backs[b.backs].After < before.Number) {
			b.backs++
			if _, err := lots.Take(b.Backs[b.backs-1].Amount); err != nil {
				return err
			}
		}
	}
	return nil
}

// Before reports whether a switch changes the part.
func (p Part) Before(w Switch) bool { return p.AssetID == w.AssetID && p.Generation < w.Generation }

// apply applies a switch to the lots of its stock.
func (r *replay) apply(w Switch, all []Switch) error {
	if w.Undoes != 0 {
		of := slices.IndexFunc(all, func(s Switch) bool { return s.Number == w.Undoes })
		if of < 0 {
			return nil
		}
		return r.undo(all[of], w)
	}
	r.before[w.Number] = make(map[RewardID]snapshot)
	var sum, after Holding // of the awards so far
	var given Holding
	for _, b := range r.books {
		lots := r.lots[b.ID]
		lot := lots.Of(w.AssetID)
		if lot.Shares == 0 && lot.Basis == 0 {
			continue
		}
		r.before[w.Number][b.ID] = snapshot{lots.Copy(), b.parts}
		sum.Quantity, sum.CostBasis = sum.Quantity+lot.Shares, sum.CostBasis+lot.Basis
		kept, got, err := w.Conversion.Apply(sum)
		if err != nil {
			return err
		}
		part := lots.lot(w.AssetID)
		part.Shares, part.Basis = kept.Quantity-after.Quantity, kept.CostBasis-after.CostBasis
		if w.Target != 0 {
			g := gift{w, Holding{Quantity: got.Quantity - given.Quantity, CostBasis: got.CostBasis - given.CostBasis}}
			lots.receive(g)
			r.gifts[b.ID] = append(r.gifts[b.ID], g)
		}
		lots.beginEra(lots.amount - lots.reversed)
		after, given = kept, got
	}
	return nil
}

// gift is what a switch gave of its target for an award.
type gift struct {
	by Switch
	Holding
}

// receive adds a gift to the lots.
func (l *AwardLots) receive(g gift) {
	target := l.lot(g.by.Target)
	target.Shares, target.Basis = target.Shares+g.Quantity, target.Basis+g.CostBasis
	if g.by.Keep.New == 0 && l.Main == g.by.AssetID {
		l.Main = g.by.Target
	}
}

// undo takes the switch w back, which may be an undo: the lots are as before it, with what came since. Lots of other
// stocks stay.
func (r *replay) undo(w, undo Switch) error {
	r.undone[w.Number], r.before[undo.Number] = true, make(map[RewardID]snapshot)
	for _, b := range r.books {
		then, changed := r.before[w.Number][b.ID]
		if !changed {
			continue
		}
		now := r.lots[b.ID]
		r.before[undo.Number][b.ID] = snapshot{now.Copy(), b.parts}
		gifts := r.giftsSince(b.ID, w)
		if w.Undoes != 0 && w.Target != 0 { // w took a gift back, which is given again
			had, has := now.Of(w.Target), then.Of(w.Target)
			g := gift{undo, Holding{Quantity: has.Shares - had.Shares, CostBasis: has.Basis - had.Basis}}
			r.gifts[b.ID] = append(r.gifts[b.ID], g)
		}
		if err := b.addSince(then, w, undo, gifts); err != nil {
			return err
		}
		for _, lot := range now.List {
			if lot.AssetID != w.AssetID && lot.AssetID != w.Target {
				*then.lot(lot.AssetID) = lot
			}
		}
		then.beginEra(now.amount - now.reversed)
		r.lots[b.ID] = then.AwardLots
	}
	return nil
}

// giftsSince lists what later switches gave an award of the stocks of w, as far as that is not undone.
func (r *replay) giftsSince(award RewardID, w Switch) (list []gift) {
	for _, g := range r.gifts[award] {
		if g.by.Number > w.Number && !r.undone[g.by.Number] && (g.by.Target == w.AssetID || g.by.Target == w.Target) {
			list = append(list, g)
		}
	}
	return list
}

// addSince adds to the lots of before the switch w what came until its undo: parts that were bought, and gifts, less
// what was taken back.
func (b *bookmark) addSince(then snapshot, w, undo Switch, gifts []gift) error {
	for n := then.parts; n < b.parts; n++ {
		if err := then.buy(b.Parts[n], b.Amount, b.Executed && n == len(b.Parts)-1); err != nil {
			return err
		}
	}
	receive := func(until int64) {
		for len(gifts) > 0 && gifts[0].by.Number <= until {
			then.receive(gifts[0])
			then.beginEra(then.amount - then.reversed)
			gifts = gifts[1:]
		}
	}
	for _, back := range b.Backs[:b.backs] {
		if back.After >= w.Number && back.After < undo.Number {
			receive(back.After)
			if _, err := then.Take(back.Amount); err != nil {
				return err
			}
		}
	}
	receive(undo.Number)
	return nil
}

// Unchanging reports whether the switch leaves every holding as it is, such as that of a dividend.
func (s Switch) Unchanging() bool {
	return s.Undoes == 0 && s.Target == 0 && s.Keep.Old == s.Keep.New && !s.Ends
}
