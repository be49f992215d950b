package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// effect is a row of effects: what a switch did to a holding.
type effect struct {
	app, user             string
	number, asset         int64 // of the switch
	before, after         int64
	basisBefore, basisAft int64
	entitled, cash        int64
}

func (e *effect) name() string {
	return fmt.Sprintf("effect of switch %d on the holding of %s of %s", e.number, value.Asset(e.asset),
		userName(e.app, e.user))
}

func (e *effect) was() stake { return stake{e.before, e.basisBefore} }

func (e *effect) is() stake { return stake{e.after, e.basisAft} }

func effectStream() reader.Stream[effect] {
	return reader.Stream[effect]{
		What: "effects by user",
		Query: `SELECT app_id, user_id, switch, asset_id, before, after, basis_before, basis_after, entitled, cash
			FROM effects`,
		Sort: true,
		Bind: func(e *effect) []any {
			return []any{
				&e.app, &e.user, &e.number, &e.asset, &e.before, &e.after, &e.basisBefore, &e.basisAft,
				&e.entitled, &e.cash,
			}
		},
		Key: func(e *effect) reader.Key { return reader.Key{e.app, e.user} },
	}
}

// addEffect adds an effect to the sums of its switch.
func (a *auditor) addEffect(e *effect) {
	w := a.switches[e.number]
	if w == nil {
		return
	}
	w.effects.cash.Add(e.cash)
	if e.asset == w.target {
		w.effects.given = w.effects.given.Plus(value.SumOf(e.after)).Minus(value.SumOf(e.before))
		return
	}
	w.effects.before.Add(e.before)
	w.effects.after.Add(e.after)
}

func (j *userJoin) claimEffect(e *effect) {
	j.a.t.row(checkTenancy)
	j.a.addEffect(e)
	j.effects = append(j.effects, *e)
	entryOf(j.due, e.asset)
}

func (j *userJoin) strayEffect(e *effect) {
	j.a.notInApp("effect of switch "+value.Int(e.number), e.app, "user", e.user)
	j.a.addEffect(e)
}

// replay repeats the switches of all stocks of a user, and compares them with their effects.
func (j *userJoin) replay(k reader.Key) {
	var numbers []int64
	for asset := range maps.Keys(j.due) {
		for _, w := range j.a.ofAsset[asset] {
			numbers = append(numbers, w.number)
		}
	}
	for i := range j.effects {
		numbers = append(numbers, j.effects[i].number)
	}
	slices.Sort(numbers)
	slices.SortStableFunc(j.taken, func(t, u taking) int { return cmp.Compare(t.after, u.after) })
	rest, next := j.effects, 0
	for _, n := range slices.Compact(numbers) {
		for ; next < len(j.taken) && j.taken[next].after < n; next++ {
			j.take(&j.taken[next])
		}
		end := 0
		for end < len(rest) && rest[end].number == n {
			end++
		}
		j.repeat(k, n, rest[:end])
		for i := range rest[:end] {
			j.due[rest[i].asset].change(&rest[i])
		}
		rest = rest[end:]
	}
	for ; next < len(j.taken); next++ {
		j.take(&j.taken[next])
	}
}

// take subtracts from what a user must hold what a reversal took.
func (j *userJoin) take(t *taking) {
	of := &j.due[t.asset].changed
	of.shares, of.cost = of.shares.Minus(value.SumOf(t.quantity)), of.cost.Minus(value.SumOf(t.basis))
}

// takenSince returns what was taken of a stock from the moment that entitles to a dividend to its switch.
func (j *userJoin) takenSince(w *unitSwitch) (shares int64) {
	for i := range j.taken {
		if t := &j.taken[i]; t.asset == w.asset && t.after < w.number && t.completedAt >= w.entitledAt {
			shares += t.quantity
		}
	}
	return shares
}

// repeat repeats one switch for a user. list has its effects.
func (j *userJoin) repeat(k reader.Key, number int64, list []effect) {
	w := j.a.switches[number]
	fail := func(e *effect, found, expected string) { j.a.t.fail(checkEffects, e.name(), found, expected) }
	var source, target *effect
	for i := range list {
		e := &list[i]
		j.a.t.row(checkEffects)
		switch {
		case w == nil:
			fail(e, "no such switch", "a switch that exists")
		case !w.reached(k):
			fail(e, "an effect", "none before the sweep reaches the user")
		case e.asset == w.asset && source == nil:
			source = e
		case e.asset == w.target && target == nil:
			target = e
		default:
			fail(e, "another effect", "one on each stock of the switch")
		}
	}
	if w == nil || !w.reached(k) {
		return
	}
	none := func(asset int64) *effect { return &effect{app: k[0], user: k[1], number: number, asset: asset} }
	had, fits := entryOf(j.due, w.asset).until(w.generation)
	if source == nil {
		source = none(w.asset)
	}
	if target == nil {
		target = none(w.target)
	}
	kept, given, ok := j.expected(w, had, target)
	switch {
	case source.entitled < 0 || target.entitled != 0, w.entitledAt == 0 && source.entitled != source.before,
		w.entitledAt != 0 && source.entitled > source.before+j.takenSince(w):
		fail(source, value.Shares(source.entitled)+" entitled", value.Shares(source.before)+
			", or less when some were bought late, or more when some were taken back")
	case !fits || !ok:
		fail(source, had.text(), "amounts from 0 to 63 bits")
	case source.was() != had:
		fail(source, "before: "+source.was().text(), had.text()+", by the lots, effects and takings until then")
	case source.is() != kept:
		fail(source, "after: "+source.is().text(), kept.text()+", by "+w.describe())
	case target.after-target.before != given.quantity || target.basisAft-target.basisBefore != given.basis:
		fail(target, fmt.Sprintf("from %s to %s", target.was().text(), target.is().text()),
			given.text()+" more, by "+w.describe())
	}
}

// expected returns what a switch makes of a user's holding, and what it adds to the target's.
func (j *userJoin) expected(w *unitSwitch, had stake, target *effect) (kept, given stake, ok bool) {
	if w.undoes == 0 {
		return w.apply(had)
	}
	kept = had
	if change, recomputed := j.books.undone[w.number]; recomputed {
		of := change[w.asset]
		return stake{had.quantity + of.quantity, had.basis + of.basis}, change[w.target], true
	}
	for i := range j.effects {
		e := &j.effects[i]
		switch {
		case e.number != w.undoes:
		case e.asset == w.asset:
			kept = had.back(e)
		case e.asset == w.target:
			was := target.was()
			now := was.back(e)
			given = stake{now.quantity - was.quantity, now.basis - was.basis}
		}
	}
	return kept, given, true
}

// back takes an effect back, but not more than there is.
func (s stake) back(e *effect) stake {
	return stake{max(0, s.quantity-(e.after-e.before)), max(0, s.basis-(e.basisAft-e.basisBefore))}
}

func (s stake) text() string { return value.Shares(s.quantity) + " for " + value.USD(s.basis) }

// change adds an effect to what a user must hold.
func (d *due) change(e *effect) {
	d.changed.shares = d.changed.shares.Plus(value.SumOf(e.after)).Minus(value.SumOf(e.before))
	d.changed.cost = d.changed.cost.Plus(value.SumOf(e.basisAft)).Minus(value.SumOf(e.basisBefore))
}

// until returns what a user had before the asset's generation began.
func (d *due) until(generation int64) (stake, bool) {
	shares, cost := d.changed.shares, d.changed.cost
	for i := range d.lots {
		if l := &d.lots[i]; l.generation < generation {
			shares, cost = shares.Plus(l.shares), cost.Plus(l.cost)
		}
	}
	quantity, fits := shares.Int64()
	basis, fit := cost.Int64()
	return stake{quantity, basis}, fits && fit && quantity >= 0 && basis >= 0
}
