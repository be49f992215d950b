package audit

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// book replays one award of a user: its lots, and what was taken back.
type book struct {
	id    string
	lots  []lot       // in the order of their generations
	backs []*reversal // that took shares, oldest first
	gifts []gift      // oldest first
	now   bookState
}

// bookState is what an award has at some time. Reversals take by the figures of an era, which begins
// when the award is executed and at each change of one of its stocks.
type bookState struct {
	has    map[int64]stake // by asset
	era    map[int64]stake // when the era began
	main   int64           // the award's stock, or its successor
	amount int64           // not reversed when the era began
	back   int64           // reversed in the era
	lots   int             // that were read
	backs  int
}

func (s bookState) copied() bookState {
	s.has, s.era = maps.Clone(s.has), maps.Clone(s.era)
	return s
}

// begin begins an era in which the award has an amount that is not reversed.
func (s *bookState) begin(amount int64) { s.era, s.amount, s.back = maps.Clone(s.has), amount, 0 }

// buy adds a lot. The one that executed the award has its cost.
func (s *bookState) buy(l *lot) {
	had := s.has[l.asset]
	s.has[l.asset] = stake{had.quantity + l.low, had.basis + l.cost}
	if l.cost > 0 {
		s.begin(l.cost)
	}
}

// take takes an amount back and returns what that takes of each stock: together the reversals of an
// era take the floor of their part of each stock, and the last one takes the rest. The dollars that
// the other stocks do not give come from the main stock.
func (s *bookState) take(amount int64) (map[int64]stake, bool) {
	if s.back += amount; amount <= 0 || s.back > s.amount {
		return nil, false
	}
	took, rest := make(map[int64]stake), amount
	for asset, had := range s.has {
		gone := s.era[asset]
		if s.back < s.amount {
			var fits [2]bool
			gone.quantity, fits[0] = value.MulDiv(gone.quantity, s.back, s.amount)
			gone.basis, fits[1] = value.MulDiv(gone.basis, s.back, s.amount)
			if !fits[0] || !fits[1] {
				return nil, false
			}
		}
		was := s.era[asset]
		took[asset] = stake{had.quantity - (was.quantity - gone.quantity), had.basis - (was.basis - gone.basis)}
		if asset != s.main {
			rest -= took[asset].basis
		}
	}
	if of, has := took[s.main]; has {
		if of.basis = s.has[s.main].basis; s.back < s.amount {
			of.basis = min(max(rest, 0), of.basis)
		}
		took[s.main] = of
	}
	for asset, t := range took {
		s.has[asset] = stake{s.has[asset].quantity - t.quantity, s.has[asset].basis - t.basis}
	}
	return took, true
}

// books replays the awards of one user.
type books struct {
	a      *auditor
	list   []*book
	before map[int64]map[*book]bookState // by the number of a switch
	undone map[int64]map[int64]stake     // what an undo changes, by its number and by asset
	gone   map[int64]bool                // the switches that a later one undid, by number
	broken bool                          // the rows contradict each other; checkReversals says how
}

// replayBooks checks what the reversals of a user took, and returns what undos must change.
func (j *userJoin) replayBooks(k reader.Key) *books {
	b := &books{
		a: j.a, before: make(map[int64]map[*book]bookState), undone: make(map[int64]map[int64]stake),
		gone: make(map[int64]bool),
	}
	if len(j.backs) == 0 {
		return b
	}
	b.open(j.parts, j.backs)
	b.read(0)
	for number := int64(1); number <= int64(len(j.a.switches)); number++ {
		if w := j.a.switches[number]; w != nil && w.reached(k) {
			b.apply(w)
		}
		b.read(number)
	}
	for i := range j.backs {
		if r := &j.backs[i]; !r.took() && len(r.takings) > 0 {
			j.a.t.fail(checkTakings, r.name(), r.takings[0].name(), "nothing taken: "+r.describe())
		}
	}
	return b
}

func (b *books) open(lots []lot, backs []reversal) {
	for _, l := range lots {
		if l.low == 0 && l.cost == 0 {
			continue
		}
		if len(b.list) == 0 || b.list[len(b.list)-1].id != l.reward {
			b.list = append(b.list, &book{
				id: l.reward, now: bookState{has: make(map[int64]stake), main: l.asset},
			})
		}
		last := b.list[len(b.list)-1]
		last.lots = append(last.lots, l)
	}
	for i := range backs {
		r := &backs[i]
		if !r.took() {
			continue
		}
		of := slices.IndexFunc(b.list, func(k *book) bool { return k.id == r.reward })
		if of < 0 {
			b.mismatch(r, "an award without shares")
			continue
		}
		b.list[of].backs = append(b.list[of].backs, r)
	}
	for _, of := range b.list {
		slices.SortStableFunc(of.backs, func(r, s *reversal) int {
			return cmp.Or(cmp.Compare(r.after, s.after), cmp.Compare(r.completedAt, s.completedAt))
		})
	}
}

func (b *books) mismatch(r *reversal, expected string) {
	b.broken = true
	b.a.t.fail(checkTakings, r.name(), r.describe(), expected)
}

// read reads the lots and reversals between the switch of that number and the next one. A lot counts from the
// switch that began its generation.
func (b *books) read(number int64) {
	for _, of := range b.list {
		for s := &of.now; s.lots < len(of.lots) && b.a.began(&of.lots[s.lots]) <= number; s.lots++ {
			s.buy(&of.lots[s.lots])
		}
		for of.now.backs < len(of.backs) && of.backs[of.now.backs].after == number {
			r := of.backs[of.now.backs]
			of.now.backs++
			took, ok := of.now.take(r.amount)
			if !ok {
				b.mismatch(r, "an amount that is left of the award")
				continue
			}
			b.compare(r, took, of.now.main)
		}
	}
}

// began returns the number of the switch that began the generation of a lot.
func (a *auditor) began(l *lot) int64 {
	if list := a.ofAsset[l.asset]; l.generation > 0 && l.generation <= int64(len(list)) {
		return list[l.generation-1].number
	}
	return 0
}

// compare compares what a reversal took with what it must have taken.
func (b *books) compare(r *reversal, want map[int64]stake, main int64) {
	b.a.t.row(checkTakings)
	got := make(map[int64]stake)
	for i := range r.takings {
		t := &r.takings[i]
		if _, again := got[t.asset]; again {
			b.a.t.fail(checkTakings, t.name(), "another row", "one")
		}
		got[t.asset] = stake{t.quantity, t.basis}
	}
	for asset, w := range want {
		if g := got[asset]; g != w {
			b.a.t.fail(checkTakings, r.name(), g.text()+" of "+value.Asset(asset), w.text()+", the award's part")
		}
		delete(got, asset)
	}
	for asset, g := range got {
		b.a.t.fail(checkTakings, r.name(), g.text()+" of "+value.Asset(asset), "only stocks of the award")
	}
	if r.quantity != want[main].quantity {
		b.a.t.fail(checkTakings, r.name(), value.Shares(r.quantity),
			value.Shares(want[main].quantity)+" of "+value.Asset(main)+", the award's stock")
	}
}

// apply changes the awards as a switch did: each gets what the ones before it and itself get together,
// less what those got.
func (b *books) apply(w *unitSwitch) {
	if w.undoes != 0 {
		b.undo(w)
		return
	}
	before := make(map[*book]bookState)
	b.before[w.number] = before
	var sum, kept, given stake
	for _, of := range b.list {
		had := of.now.has[w.asset]
		if had == (stake{}) {
			continue
		}
		before[of] = of.now.copied()
		sum = stake{sum.quantity + had.quantity, sum.basis + had.basis}
		keeps, gives, ok := w.apply(sum)
		if !ok {
			return // checkEffects reports it
		}
		of.now.has[w.asset] = stake{keeps.quantity - kept.quantity, keeps.basis - kept.basis}
		if w.target != 0 {
			g := gift{w, stake{gives.quantity - given.quantity, gives.basis - given.basis}}
			of.now.receive(g)
			of.gifts = append(of.gifts, g)
		}
		kept, given = keeps, gives
		of.now.begin(of.now.amount - of.now.back)
	}
}

// gift is what a switch gave of its target for an award.
type gift struct {
	by *unitSwitch
	stake
}

func (s *bookState) receive(g gift) {
	has := s.has[g.by.target]
	s.has[g.by.target] = stake{has.quantity + g.quantity, has.basis + g.basis}
	if g.by.keepNew == 0 && s.main == g.by.asset {
		s.main = g.by.target
	}
}

// undo computes what an undo leaves: the awards as before the switch, with what was bought and given since, less the
// dollars that were taken back since. So it does for what takes an undo back.
func (b *books) undo(undo *unitSwitch) {
	recomputed, change, before := false, make(map[int64]stake), make(map[*book]bookState)
	b.before[undo.number], b.gone[undo.undoes] = before, true
	for of, then := range b.before[undo.undoes] {
		now := of.now
		before[of] = now.copied()
		gifts := b.giftsSince(of, undo)
		if b.a.switches[undo.undoes].undoes != 0 && undo.target != 0 { // a gift that was undone is given again
			had, has := now.has[undo.target], then.has[undo.target]
			of.gifts = append(of.gifts, gift{undo, stake{has.quantity - had.quantity, has.basis - had.basis}})
		}
		recomputed = recomputed || then.backs < now.backs
		b.addSince(of, &then, gifts)
		for asset, has := range now.has {
			if asset != undo.asset && asset != undo.target {
				then.has[asset] = has
			}
		}
		for _, asset := range []int64{undo.asset, undo.target} {
			was, is, sum := now.has[asset], then.has[asset], change[asset]
			change[asset] = stake{sum.quantity + is.quantity - was.quantity, sum.basis + is.basis - was.basis}
		}
		then.begin(now.amount - now.back)
		of.now = then
	}
	if recomputed && !b.broken {
		b.undone[undo.number] = change
	}
}

// giftsSince lists what other switches gave an award of the stocks of a switch until its undo, as far as that is not
// undone.
func (b *books) giftsSince(of *book, undo *unitSwitch) (list []gift) {
	for _, g := range of.gifts {
		into := g.by.target == undo.asset || g.by.target == undo.target
		if into && g.by.number > undo.undoes && !b.gone[g.by.number] {
			list = append(list, g)
		}
	}
	return list
}

// addSince adds to an award of before a switch what came since.
func (b *books) addSince(of *book, then *bookState, gifts []gift) {
	for ; then.lots < of.now.lots; then.lots++ {
		then.buy(&of.lots[then.lots])
	}
	receive := func(until int64) {
		for len(gifts) > 0 && gifts[0].by.number <= until {
			then.receive(gifts[0])
			then.begin(then.amount - then.back)
			gifts = gifts[1:]
		}
	}
	for ; then.backs < of.now.backs; then.backs++ {
		r := of.backs[then.backs]
		receive(r.after)
		if _, ok := then.take(r.amount); !ok {
			b.broken = true
		}
	}
	receive(math.MaxInt64)
}
