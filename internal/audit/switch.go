package audit

import (
	"math/big"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// unitSwitch is a row of switches: a change of a stock's units, by an action or by its undo.
type unitSwitch struct {
	number, asset, generation, undoes int64
	action                            string
	keepOld, keepNew                  int64
	target, giveOld, giveNew          int64
	part                              string // of the basis, that goes to the target
	ends                              int64
	at, sweptAt, entitledAt           int64
	sweptApp, sweptUser               string
	before, after, given              int64 // sums of the sweep
	booked, position                  int64
	targetBooked, targetPosition      int64

	effects switchSums // found in the effects
	undone  bool
}

// switchSums are sums over the effects of a switch.
type switchSums struct{ before, after, given, cash value.Sum }

func (w *unitSwitch) name() string { return "switch " + value.Int(w.number) }

func switchStream() reader.Stream[unitSwitch] {
	return reader.Stream[unitSwitch]{
		What: "switches",
		Query: `SELECT number, asset_id, generation, undoes, action_id, keep_old, keep_new, target_id, give_old,
			give_new, basis_part, basis_ends, at, swept_at, entitled_at, swept_app, swept_user, users_before,
			users_after, users_given, booked, position, target_booked, target_position FROM switches ORDER BY number`,
		Bind: func(w *unitSwitch) []any {
			return []any{
				&w.number, &w.asset, &w.generation, &w.undoes, &w.action, &w.keepOld, &w.keepNew, &w.target, &w.giveOld,
				&w.giveNew, &w.part, &w.ends, &w.at, &w.sweptAt, &w.entitledAt, &w.sweptApp, &w.sweptUser, &w.before,
				&w.after, &w.given, &w.booked, &w.position, &w.targetBooked, &w.targetPosition,
			}
		},
	}
}

// isUndo reports whether the switch takes an action back. One that takes an undo back has the ratios of its action.
func (w *unitSwitch) isUndo() bool { return w.undoes != 0 && w.keepOld == w.keepNew && w.giveNew == 0 }

// unchanging reports whether the switch leaves every holding as it is, as that of a cash dividend does.
func (w *unitSwitch) unchanging() bool {
	return w.undoes == 0 && w.target == 0 && w.keepOld == w.keepNew && w.ends == 0
}

// open reports whether its sweep goes on.
func (w *unitSwitch) open() bool { return w.sweptAt == 0 }

// reached reports whether the sweep has reached a user.
func (w *unitSwitch) reached(k reader.Key) bool {
	return !w.open() || k.Compare(reader.Key{w.sweptApp, w.sweptUser}) <= 0
}

// readSwitches reads the switches and checks each, and those before it.
func (a *auditor) readSwitches() error {
	err := reader.Each(a.r, switchStream(), func(row *unitSwitch) {
		a.t.row(checkSwitches)
		if a.switches[row.number] != nil {
			a.t.fail(checkSwitches, row.name(), "another row with the number", "one")
			return
		}
		w := *row
		if found, expected := a.switchRule(&w); expected != "" {
			a.t.fail(checkSwitches, w.name(), found, expected)
		}
		a.switches[w.number] = &w
		a.ofAsset[w.asset] = append(a.ofAsset[w.asset], &w)
		a.lastOf[w.action] = &w
		if w.open() && a.sweep == nil {
			a.sweep = &w
		}
	})
	return err
}

// switchRule checks a switch, given those before it.
func (a *auditor) switchRule(w *unitSwitch) (found, expected string) {
	before := a.ofAsset[w.asset]
	_, readable := value.Part(w.part, 0)
	found, expected = judge(
		w.describe,
		must{w.number == int64(len(a.switches))+1, "the number " + value.Int(int64(len(a.switches))+1)},
		must{w.generation == int64(len(before))+1, "generation " + value.Int(int64(len(before))+1) + " of its asset"},
		must{a.sweep == nil, "none while an earlier one is swept"},
		must{w.keepOld > 0 && w.keepNew >= 0 && w.giveOld > 0 && w.giveNew >= 0, "ratios of positive numbers"},
		must{readable, "a part of the cost basis from 0 to 1"},
		must{w.target != w.asset, "another stock as the target"},
		must{w.open() || w.sweptAt >= w.at, "a sweep that ends after it began"},
	)
	if expected != "" || w.undoes == 0 {
		return found, expected
	}
	u := a.switches[w.undoes]
	if u == nil || u.isUndo() == w.isUndo() || u.undone || a.lastOf[w.action] != u {
		return "undoes switch " + value.Int(w.undoes), "the last switch of its action, which the other kind takes back"
	}
	// A damaged row could point to a later one.
	for back := u; back != nil && back.number > back.undoes; back = a.switches[back.undoes] {
		back.undone = !back.undone
	}
	return judge(
		w.describe,
		must{u.asset == w.asset && u.target == w.target, "the stocks of " + u.name()},
		must{
			a.onlyUndone(w.asset, u.number) && a.onlyUndone(w.target, u.number),
			"the undo of the newest switch of its stocks",
		},
	)
}

// onlyUndone reports whether all switches of an asset after a number were undone, or take one of these back.
func (a *auditor) onlyUndone(asset, number int64) bool {
	for _, w := range a.ofAsset[asset] {
		if w.number > number && !w.isUndo() && !w.undone && w.undoes <= number && !w.unchanging() {
			return false
		}
	}
	return true
}

func (w *unitSwitch) describe() string {
	return "action " + w.action + ", " + value.Asset(w.asset) + " to generation " + value.Int(w.generation) +
		", keeps " + value.Int(w.keepNew) + " for " + value.Int(w.keepOld) +
		", gives " + value.Int(w.giveNew) + " for " + value.Int(w.giveOld) + " of " +
		value.Asset(w.target) + " and the part " + w.part + " of the cost basis"
}

// stake is an amount of shares and their cost basis.
type stake struct{ quantity, basis int64 }

// apply returns what a holding becomes, and what its user receives of the target. It returns false
// when these are no numbers of 64 bits.
func (w *unitSwitch) apply(h stake) (kept, given stake, ok bool) {
	var fits [3]bool
	kept.quantity, fits[0] = value.MulDiv(h.quantity, w.keepNew, w.keepOld)
	given.quantity, fits[1] = value.MulDiv(h.quantity, w.giveNew, w.giveOld)
	given.basis, fits[2] = value.Part(w.part, h.basis)
	if w.target == 0 {
		given = stake{}
	}
	if kept.basis = h.basis - given.basis; w.ends != 0 {
		kept.basis = 0
	}
	return kept, given, fits[0] && fits[1] && fits[2]
}

// residue is what the holdings left to the house of the shares that the broker gave or took.
func (w *unitSwitch) residue() value.Sum {
	users := value.SumOf(w.after).Minus(value.SumOf(w.before))
	return value.SumOf(w.position).Minus(value.SumOf(w.booked)).Minus(users)
}

// targetResidue is residue of the target.
func (w *unitSwitch) targetResidue() value.Sum {
	return value.SumOf(w.targetPosition).Minus(value.SumOf(w.targetBooked)).Minus(value.SumOf(w.given))
}

// moveShares adds what the switches changed to the positions of their stocks.
func (a *auditor) moveShares() {
	for _, w := range a.switches {
		a.position(w.asset).move(w.position, w.booked, w.residue(), w.open())
		if w.target != 0 {
			a.position(w.target).move(w.targetPosition, w.targetBooked, w.targetResidue(), w.open())
		}
	}
}

func (p *position) move(after, before int64, residue value.Sum, open bool) {
	p.moved = p.moved.Plus(value.SumOf(after)).Minus(value.SumOf(before))
	if open {
		p.pending = p.pending.Plus(residue)
	} else {
		p.residues = p.residues.Plus(residue)
	}
}

// checkSums compares the sums of each sweep with its effects.
func (a *auditor) checkSums() {
	for number := range int64(len(a.switches)) {
		w := a.switches[number+1]
		if w == nil {
			continue // the numbers have a gap
		}
		a.t.row(checkSwitches)
		e := &w.effects
		if !e.before.Is(w.before) || !e.after.Is(w.after) || !e.given.Is(w.given) {
			a.t.fail(checkSwitches, w.name(),
				sumsText(value.SumOf(w.before), value.SumOf(w.after), value.SumOf(w.given)),
				sumsText(e.before, e.after, e.given)+", the sums of its effects")
		}
	}
}

func sumsText(before, after, given value.Sum) string {
	return "users had " + before.Shares() + ", have " + after.Shares() + " and got " + given.Shares() + " of the target"
}

// ratio returns a quotient of two decimals; false when they are not numbers, or the second is 0.
func ratio(dividend, divisor string) (*big.Rat, bool) {
	over, ok := new(big.Rat).SetString(dividend)
	if !ok {
		return nil, false
	}
	under, ok := new(big.Rat).SetString(divisor)
	if !ok || under.Sign() == 0 {
		return nil, false
	}
	return over.Quo(over, under), true
}
