package audit

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// The stored states of a corporate action.
const (
	actionAnnounced = iota + 1
	actionHeld
	actionIgnored
	actionWithdrawn
	actionPassed
	actionApplied
	actionSwept
	actionUndone
	actionUndoing
)

// action is a row of actions.
type action struct {
	id                            string
	asset                         int64
	kind, symbol, newSymbol       string
	oldRate, newRate, rate        string
	revision, state, boundary     int64
	holdFrom, firstSeen, heldAt   int64
	decidedAt, approvedAt, atTime int64 // when it was ignored, approved and applied
	waitsFor                      string

	revisions map[int64]bool // that are stored
}

func (c *action) name() string { return "corporate action " + c.id }

func (c *action) describe() string {
	names := [...]string{
		"", "announced", "held", "ignored", "withdrawn", "passed", "applied", "swept", "undone", "undoing",
	}
	state := "state " + value.Int(c.state)
	if c.state > 0 && c.state < int64(len(names)) {
		state = names[c.state]
	}
	return fmt.Sprintf("%s, %s, revision %d, from %s, held at %s, ignored at %s, applied at %s", c.kind, state,
		c.revision, value.Time(c.boundary), value.Time(c.heldAt), value.Time(c.decidedAt), value.Time(c.atTime))
}

// changes reports whether the action changes what a share is, so that its stock is not ordered
// while it is due.
func (c *action) changes() bool {
	return !slices.Contains([]string{"cash_dividend", "rights_distribution", "partial_call"}, c.kind)
}

func (c *action) gives() bool {
	return slices.Contains([]string{"spin_off", "stock_merger", "stock_and_cash_merger"}, c.kind)
}

// pays reports whether the broker pays cash for the action.
func (c *action) pays() bool {
	return slices.Contains([]string{"cash_dividend", "cash_merger", "stock_and_cash_merger"}, c.kind)
}

func (a *auditor) readActions() error {
	err := reader.Each(a.r, reader.Stream[action]{
		What: "corporate actions",
		Query: `SELECT id, asset_id, type, symbol, new_symbol, old_rate, new_rate, rate, revision, state, boundary,
			hold_from, first_seen, held_at, decided_at, approved_at, applied_at, waits_for FROM actions`,
		Bind: func(c *action) []any {
			return []any{
				&c.id, &c.asset, &c.kind, &c.symbol, &c.newSymbol, &c.oldRate, &c.newRate, &c.rate, &c.revision,
				&c.state, &c.boundary, &c.holdFrom, &c.firstSeen, &c.heldAt, &c.decidedAt, &c.approvedAt,
				&c.atTime, &c.waitsFor,
			}
		},
	}, func(row *action) {
		if a.actions[row.id] != nil {
			a.t.row(checkActions)
			a.t.fail(checkActions, row.name(), "another row with the id", "one")
			return
		}
		c := *row
		c.revisions = make(map[int64]bool)
		a.actions[c.id] = &c
	})
	if err != nil {
		return err
	}
	type revision struct {
		action string
		number int64
		seenAt int64
	}
	return reader.Each(a.r, reader.Stream[revision]{
		What: "announcements", Query: `SELECT action_id, revision, seen_at FROM announcements`,
		Bind: func(n *revision) []any { return []any{&n.action, &n.number, &n.seenAt} },
	}, func(n *revision) {
		a.t.row(checkActions)
		c, row := a.actions[n.action], fmt.Sprintf("revision %d of the action %s", n.number, n.action)
		switch {
		case c == nil:
			a.t.fail(checkActions, row, "no such action", "an action that exists")
		case c.revisions[n.number]:
			a.t.fail(checkActions, row, "another row", "one")
		case n.number < 1 || n.number > c.revision:
			a.t.fail(checkActions, row, "revision "+value.Int(n.number), "from 1 to "+value.Int(c.revision))
		default:
			c.revisions[n.number] = true
			if n.seenAt < c.atTime {
				c.firstSeen = max(c.firstSeen, n.seenAt)
			}
		}
	})
}

// checkActions checks the actions with their switches, and collects when stocks were not ordered.
func (a *auditor) checkActions() error {
	for id := range a.lastOf {
		if a.actions[id] == nil {
			a.t.row(checkActions)
			a.t.fail(checkActions, "corporate action "+id, "no row, but a switch", "an action that exists")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.actions)) {
		c := a.actions[id]
		a.t.row(checkActions)
		a.checkAsset(c.asset, c)
		if found, expected := a.actionRule(c); expected != "" {
			a.t.fail(checkActions, c.name(), found, expected)
		}
		if (c.state == actionApplied || c.state == actionSwept) && c.changes() && c.approvedAt == 0 {
			a.stops[c.asset] = append(a.stops[c.asset], c)
		}
	}
	return nil
}

func (a *auditor) actionRule(c *action) (found, expected string) {
	w := a.lastOf[c.id]
	is, undone := w != nil && !w.isUndo(), w != nil && w.isUndo()
	early := c.state < actionApplied
	entitled := is && c.kind == "cash_dividend"
	found, expected = judge(
		c.describe,
		must{c.state >= actionAnnounced && c.state <= actionUndoing, "a state from 1 to 9"},
		must{c.revision >= 0 && c.boundary >= 0 && c.holdFrom >= 0, "no negative number"},
		must{c.state != actionHeld || c.heldAt > 0, "the time since which it is held"},
		must{c.state == actionHeld || c.waitsFor == "", "nothing to wait for unless held"},
		must{c.state != actionIgnored || c.decidedAt > 0, "the time when it was ignored"},
		must{c.state != actionApplied && c.state != actionSwept || c.atTime > 0, "the time when it was applied"},
		must{c.state != actionApplied || is && w.open(), "a switch that is swept"},
		must{c.state != actionSwept || is && !w.open(), "a switch whose sweep has ended"},
		must{c.state != actionUndoing || undone && w.open(), "an undo that is swept"},
		must{c.state != actionUndone || undone && !w.open(), "an undo whose sweep has ended"},
		must{!early || !is || entitled, "no switch before it is applied"},
		must{!early || !undone || !w.open(), "no undo under way"},
		must{w == nil || w.asset == c.asset, "the asset of its switch"},
	)
	if expected != "" || !is {
		return found, expected
	}
	return a.termsRule(c, w)
}

// termsRule compares the ratios of a switch with the action's terms.
func (a *auditor) termsRule(c *action, w *unitSwitch) (found, expected string) {
	rates, known := ratio(c.newRate, c.oldRate)
	one, none := big.NewRat(1, 1), new(big.Rat)
	keep, give := one, none
	switch c.kind {
	case "forward_split", "reverse_split", "position":
		keep = rates
	case "stock_dividend":
		if keep, known = ratio(c.rate, "1"); known {
			keep.Add(keep, one)
		}
	case "spin_off":
		give = rates
	case "stock_merger", "stock_and_cash_merger":
		keep, give = none, rates
	case "cash_merger", "worthless_removal":
		keep, known = none, true
	default:
		known = true
	}
	return judge(
		w.describe,
		must{known, "readable rates: " + c.oldRate + ", " + c.newRate + ", " + c.rate},
		must{!known || big.NewRat(w.keepNew, max(1, w.keepOld)).Cmp(keep) == 0, "keeps as announced: " + c.terms()},
		must{!known || big.NewRat(w.giveNew, max(1, w.giveOld)).Cmp(give) == 0, "gives as announced: " + c.terms()},
		must{c.gives() == (w.target != 0), "a target exactly when the action gives another stock"},
		must{(w.ends != 0) == (keep != nil && keep.Sign() == 0), "no cost basis left exactly when the stock ends"},
	)
}

func (c *action) terms() string {
	return c.kind + ", rates " + c.oldRate + ":" + c.newRate + ", rate " + c.rate
}

// checkActionOrder checks that an order was not first sent while an action that was later applied
// held its stock. What an operator approved may have been ignored or unknown before.
func (a *auditor) checkActionOrder(o *order) {
	if o.firstAttemptAt == 0 {
		return
	}
	a.t.row(checkActionOrders)
	for _, c := range a.stops[o.asset] {
		if from := max(c.boundary, c.firstSeen); o.firstAttemptAt > from && o.firstAttemptAt < c.atTime {
			a.t.fail(checkActionOrders, "order "+value.UUID(o.id), "first sent at "+value.Time(o.firstAttemptAt),
				"not between "+value.Time(from)+" and "+value.Time(c.atTime)+", by "+c.name())
		}
	}
}

// checkOrderGeneration checks that an order was booked in a generation of its asset.
func (a *auditor) checkOrderGeneration(o *order) {
	a.t.row(checkGenerations)
	if newest := a.generations[o.asset]; o.generation < 0 || o.generation > newest {
		a.t.fail(checkGenerations, "order "+value.UUID(o.id), "generation "+value.Int(o.generation),
			"from 0 to "+value.Int(newest))
	}
}

// givenSymbol reports whether an asset is one that holders receive by an action: it is added
// disabled, without a log entry.
func (a *auditor) givenSymbol(asset int64, symbol string) bool {
	for _, c := range a.actions {
		if c.gives() && c.newSymbol == symbol {
			return true
		}
	}
	for _, w := range a.switches {
		if w.target == asset {
			return true
		}
	}
	return false
}
