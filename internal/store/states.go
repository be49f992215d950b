package store

import "stockrewards/internal/rewards"

// The states of package rewards as SQL literals. Each state is one digit, so that a constant
// expression can spell it.
const (
	recorded  = string('0' + rune(rewards.Recorded))
	executing = string('0' + rune(rewards.Executing))
	executed  = string('0' + rune(rewards.Executed))
	failed    = string('0' + rune(rewards.Failed))

	planned     = string('0' + rune(rewards.OrderPlanned))
	submitted   = string('0' + rune(rewards.OrderSubmitted))
	quarantined = string('0' + rune(rewards.OrderQuarantined))
	settled     = string('0' + rune(rewards.OrderSettled))
	refused     = string('0' + rune(rewards.OrderRefused))

	orderedState = string('0' + rune(rewards.ReversalOrdered))

	announced = string('0' + rune(rewards.ActionAnnounced))
	held      = string('0' + rune(rewards.ActionHeld))
	withdrawn = string('0' + rune(rewards.ActionWithdrawn))
	passed    = string('0' + rune(rewards.ActionPassed))
	applied   = string('0' + rune(rewards.ActionApplied))
	swept     = string('0' + rune(rewards.ActionSwept))
	undone    = string('0' + rune(rewards.ActionUndone))
	undoing   = string('0' + rune(rewards.ActionUndoing))
)

// Conditions on a state. The partial index orders_live has the orders that are not final;
// SQLite uses it only in a statement that repeats its condition, state < 6. So a statement
// about one non-final state names both.
const (
	liveState = `state < ` + settled
	// unboughtState is the negation of Order.MayHaveBought for live orders.
	unboughtState = `(state = ` + planned + ` OR state = ` + submitted + ` AND deadline = 0)`
	activeState   = `state IN (` + announced + `, ` + held + `)`

	// quarantinedOrder finds the quarantined orders of the asset that follows it.
	quarantinedOrder = `SELECT 1 FROM orders o WHERE o.` + liveState + ` AND o.state = ` + quarantined +
		` AND o.asset_id = `
)
