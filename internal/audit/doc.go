// Package audit checks the invariants of the books by a reading path of its own:
// plain SQL, its own arithmetic, and nothing of what writes. It promises that every
// violation is counted and that the first ones of each check are told with the row,
// what was found and what was expected; that it changes nothing; that all of it is
// judged on one snapshot; and that it trusts no constraint of the schema.
//
// It reads every table once or twice in the order of a key and joins the streams
// by merging, so that what it keeps in memory is one order, one user, the apps, the
// keys, the assets and the days. Read checks.go for what must hold, source.go for
// what a database must provide, and order.go for the heart of it.
//
// Compare holds the books against what a broker tells of them: plain values that the
// caller has fetched, in the order that broker.go says, so that what is under way is
// told apart from what differs.
//
// The numbers beside a check are those of the list of invariants:
//
//	 2  key_unique, fingerprint, ids
//	 3  status_forward; the schema has no log of transitions, only their traces
//	 4  executed_complete (the ledger entries are the allocations)
//	 5  failed_nothing_bought
//	 6  open_fields
//	 7  asset_known, tenancy
//	 8  amount_range (the grid is the integer itself)
//	 9  one_live_order, parts_sum, carried_rest
//	10  members_hash, member_order
//	11  order_amount
//	12  client_order_id, order_state, order_times
//	13  Compare: the codes order_unknown, order_missing and order_not_sent
//	14  order_end, resolution: our side; Compare: the broker's
//	15  fill_cost
//	16  allocation_sum, house_residue, allocation_member
//	17  one_split, allocation_floor, member_order, parts_sum
//	18  child_after_parent
//	19  dollars_sum, allocation_sum: the schema has no ledger; entries are derived
//	    from orders, allocations and the house's shares, and balance when these do
//	20  holding_sum
//	21  custody: users and house against the fills; Compare: against the broker's position
//	22  cost_basis
//	23  allocation_unique (the entry's key is reward and order), spending
//	24  operator_log: the hash chain of operators' deeds
//	25  asset_known: the holds of corporate actions; the schema applies no split
//	26  tenancy, references
//	29  order_times, reward_times; the schema has no global sequence of events
//	34  spending: what the daily limits are measured by
//	36  lease: one row; the epochs of past changes are not stored
//
// Without a number: api_keys, users and user_unique, which the interface promises, and
// user_seal and operator_state, by which a direct edit of what identifies users and of what
// operators decide is noticed.
// Not in the schema, so not here: 31 and 32 (outbox).
// Whether the file itself is sound (pages, indexes) is the database's to check.
package audit
