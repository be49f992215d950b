// Package audit checks the invariants of a store. It reads plain SQL through package reader and
// shares no code with the packages that write. Package brokercheck compares a store with the
// broker.
//
// An audit counts every violation and keeps the first ones of each check with the row, what
// was found and what was expected. It changes nothing, judges one snapshot, and trusts no
// constraint of the schema.
//
// It reads each table once or twice in the order of a key and merges the streams. In memory are
// one order, one user, one segment, the apps, the keys, the assets and the days. Read checks.go for
// what must hold, and order.go for the heart of it.
//
// The numbers of a check are those of the list of invariants. checks.go has them all; these need a
// word more:
//
//	 2  key_unique; over SQLite also what finds a used key: reward_numbers, segments, segment_entries
//	 3  status_forward; the schema has no log of transitions, only their traces
//	 4  executed_complete (the ledger entries are the allocations)
//	 8  amount_range (the grid is the integer itself)
//	13  brokercheck: order_unknown, order_missing and order_not_sent
//	14  order_end, resolution: our side; brokercheck: the broker's
//	19  dollars_sum, allocation_sum: ledger entries are derived from orders, allocations and
//	    the house's shares, and balance when these do
//	21  custody: users and house against the fills; brokercheck: against the broker's position
//	23  allocation_unique (the entry's key is reward and order), spending
//	24  operator_log: the hash chain of the operator log
//	25  corporate actions: asset_known (holds), effects, generations, switches, actions, action_orders,
//	    payouts, app_assets; holding_sum and cost_basis replay lots, effects and takings
//	29  order_times, reward_times; the schema has no global sequence of events
//	31  events: the log, from which the events of clients follow
//	34  spending: what the daily limits are measured by
//	36  lease: one row; the epochs of past changes are not stored
//
// Reversals: reversals is about the requests, and takings replays what each took; book.go has the rules.
// Members: places, chains, lots and executed_spans are about how the members of orders are stored, and what
// finds them; see internal/store/LAYOUT.md. The rows of an earlier version are checked as long as they are there.
// Without a number: budgets, api_keys, users, user_unique and webhooks, which the API promises, and user_seal and
// operator_state, which find direct edits of users and of operators' decisions.
// Not in the schema: 32 (outbox).
// The database itself checks its files (pages, indexes).
package audit
