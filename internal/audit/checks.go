package audit

import "slices"

// check is one thing that must hold.
type check int

// The checks, in the order of the report.
const (
	checkIDs check = iota
	checkKeyUnique
	checkFingerprint
	checkStatusForward
	checkExecutedComplete
	checkFailedNothingBought
	checkOpenFields
	checkOpenRewards
	checkAssetKnown
	checkAmountRange
	checkOneLiveOrder
	checkPartsSum
	checkCarriedRest
	checkRewardNumbers
	checkSegments
	checkSegmentEntries
	checkMembersHash
	checkMemberOrder
	checkOrderAmount
	checkClientOrderID
	checkOrderState
	checkOrderEnd
	checkResolution
	checkFillCost
	checkAllocationSum
	checkHouseResidue
	checkAllocationMember
	checkOneSplit
	checkAllocationFloor
	checkChildAfterParent
	checkDollarsSum
	checkHoldingSum
	checkCustody
	checkCostBasis
	checkEffects
	checkGenerations
	checkSwitches
	checkActions
	checkActionOrders
	checkPayouts
	checkAppAssets
	checkAllocationUnique
	checkActivity
	checkPlaces
	checkChains
	checkLots
	checkSpans
	checkTenancy
	checkReferences
	checkOrderTimes
	checkRewardTimes
	checkSpending
	checkBudgets
	checkLease
	checkAPIKeys
	checkUsers
	checkUserUnique
	checkUserSeal
	checkOperatorLog
	checkOperatorState
	checkEvents
	checkReversals
	checkTakings
	checkWebhooks
	checkCount
)

// definition is a check, and its result before the first row.
type definition struct {
	check  check
	result CheckResult
}

// define defines a check. The invariants are those of the package comment.
func define(c check, name, unit, next, rule string, invariants ...int) definition {
	return definition{c, CheckResult{
		Name: name, Invariants: append([]int{}, invariants...), Rule: rule, Unit: unit, Next: next,
		Violations: []Violation{},
	}}
}

// What to do about a violation: docs/backup.md has the details.
const (
	askBroker   = "pause ordering, keep a copy, and run `audit --broker`: the broker knows what was really bought"
	takeBackup  = "pause ordering, keep a copy, and compare the row with the newest backup that passes"
	reportIt    = "pause ordering, keep a copy, and report it with the row: `serve` never writes this"
	stopServe   = "stop `serve` at once, keep a copy, and find out who can see whose data"
	askClient   = "keep a copy; the client's records have the request that made the row: compare them"
	checkOrders = "see `order show` and `fulfillment status`; pause ordering, so that nothing is ordered twice"
	findEditor  = "keep a copy; somebody changed the database without the commands: find out who can write to it, " +
		"repeat the change by a command, and compare `log verify --head` with the head that you keep"
	rotateKeys  = "stop `serve`, keep a copy, and rotate the keys of the app (`key rotate`)"
	stopFinding = "stop `serve` and keep a copy: a used idempotency key could buy again, and lists could omit " +
		"rewards; restore the newest backup that passes"
	fixShares = "pause ordering and keep a copy; users would see wrong shares: add up the allocations, " +
		"and restore the newest backup that passes"
)

// definitions returns the definitions of all checks.
func definitions() []definition {
	return slices.Concat(rewardDefinitions(), otherDefinitions(), actionDefinitions(), reversalDefinitions(),
		webhookDefinitions(), placeDefinitions())
}

func rewardDefinitions() []definition {
	return []definition{
		define(checkIDs, "ids", "rows", takeBackup, "each has its own UUIDv7", 2, 29),
		define(checkKeyUnique, "key_unique", "rewards", askClient,
			"an app uses an idempotency key for one reward", 2),
		define(checkFingerprint, "fingerprint", "rewards", askClient,
			"it is that of the stored fields; rewards from before the seals may omit the idempotency key", 2),
		define(checkStatusForward, "status_forward", "rewards", checkOrders,
			"a recorded one waits and has no trace of an order; an executing or executed one was in an order; "+
				"a final one does not wait", 3),
		define(checkExecutedComplete, "executed_complete", "rewards", fixShares,
			"executed exactly when it has a time of execution, and then bought in full, with shares", 4),
		define(checkFailedNothingBought, "failed_nothing_bought", "rewards", fixShares,
			"failed exactly when it has a reason, and then without shares and in no live order; "+
				"only amount_too_small has allocations; a refused order fails its rewards of which nothing was "+
				"bought before", 5),
		define(checkOpenFields, "open_fields", "rewards", reportIt,
			"a recorded or executing one has no time of execution and no failure reason", 6),
		define(checkOpenRewards, "open_rewards", "rewards", checkOrders,
			"what is not final has one row in open_rewards, with its stock and the rest of its amount, or is "+
				"newer than all of these; what is final has none", 3, 9),
		define(checkAssetKnown, "asset_known", "assets and references to them", takeBackup,
			"the asset is in the catalog, and an order has the asset of its rewards; one that waits has the asset "+
				"that had its symbol; an asset is held exactly as its open corporate actions say", 7),
		define(checkAmountRange, "amount_range", "rewards", askClient, "it is more than $0 and at most $1000000", 8),
		define(checkOneLiveOrder, "one_live_order", "rewards", checkOrders,
			"an executing one is in exactly one live order or waits for one; any other is in no live order", 9),
		define(checkPartsSum, "parts_sum", "rewards", fixShares,
			"the booked amount is the sum of the allocations, and less than the amount while executing", 9, 17),
		define(checkCarriedRest, "carried_rest", "rewards", takeBackup,
			"an order carries what the orders before it left of the amount", 9),
		define(checkEvents, "events", "rows of events and rewards", takeBackup,
			"each executed or failed one has one event, which says so, and others have no event; "+
				"so has each completed reversal; "+
				"sequences grow within an app, up to the counter", 31),
		define(checkRewardNumbers, "reward_numbers", "rewards", takeBackup,
			"over SQLite they have the numbers 1, 2, 3, …, in the order of the ids of their app", 2),
		define(checkSegments, "segments", "segments and filters", stopFinding,
			"they follow each other, over SQLite with equally many rewards, and each has one filter at most", 2),
		define(checkSegmentEntries, "segment_entries", "entries", stopFinding,
			"a sealed segment has an entry by key for each of its rewards, over SQLite also by user, and over "+
				"PostgreSQL the batches have those of the others; a filter has each key, and each reward's "+
				"segment exists", 2),
		define(checkBudgets, "budgets", "counters of budgets and rewards that count for none", reportIt,
			"a counter is the sum of its period's rewards that did not fail; only what the service awarded of a "+
				"corporate action's cash does not count"),
	}
}

func otherDefinitions() []definition {
	return []definition{
		define(checkMembersHash, "members_hash", "orders", askBroker, "the members are those that were sealed", 10),
		define(checkMemberOrder, "member_order", "orders", takeBackup,
			"the members have the positions 0, 1, 2, …, each reward once, in order of arrival", 10, 17),
		define(checkOrderAmount, "order_amount", "orders", askBroker,
			"the notional is the members' amounts and the house's part, in whole cents, $1 or more", 11),
		define(checkClientOrderID, "client_order_id", "orders", askBroker, "each has its own client order id", 12),
		define(checkOrderState, "order_state", "orders", checkOrders,
			"attempts, times, reason and fill match the state", 12),
		define(checkOrderEnd, "order_end", "orders", askBroker,
			"a settled one has ended at the broker, and a filled one has a fill", 14),
		define(checkResolution, "resolution", "orders", askBroker,
			"a resolved one has one resolution, with the same fill", 14),
		define(checkFillCost, "fill_cost", "orders", askBroker,
			"a fill has a price and costs the notional within a cent or 0.01 %, or less when the order is not filled",
			15),
		define(checkAllocationSum, "allocation_sum", "orders", fixShares,
			"the allocations and the house's shares are the filled quantity; both are zero until settled", 16, 19),
		define(checkHouseResidue, "house_residue", "settled orders", fixShares,
			"beyond what its own dollars bought the house has less than a billionth of a share per member; what it "+
				"gave is worth the members' dollars at the fill's price, less the same", 16),
		define(checkAllocationMember, "allocation_member", "allocations", fixShares,
			"the order is settled and carried the reward", 16),
		define(checkOneSplit, "one_split", "members of settled orders", fixShares,
			"the carried dollars go to the members by position: at most one is split, and those after it get nothing",
			17),
		define(checkAllocationFloor, "allocation_floor", "allocations of settled orders", fixShares,
			"the shares are floor(filled quantity x part / dollars carried)", 17),
		define(checkChildAfterParent, "child_after_parent", "rewards", checkOrders,
			"an order is settled, or was refused the rest of its reward, before that goes into another one", 18),
		define(checkDollarsSum, "dollars_sum", "settled orders", fixShares,
			"the carried dollars are those of the parts and of the house", 19),
		define(checkHoldingSum, "holding_sum", "holdings", fixShares,
			"the quantity is the sum of the user's allocations and of what corporate actions changed, less what was "+
				"taken back, and not negative", 20),
		define(checkCustody, "custody", "assets", askBroker,
			"users and house together hold the booked shares: what was filled, changed by corporate actions and "+
				"corrected by the broker", 21),
		define(checkCostBasis, "cost_basis", "holdings", fixShares,
			"the cost basis is the sum of the amounts of the user's executed rewards of the asset, changed by "+
				"corporate actions, less what was taken back", 22),
		define(checkAllocationUnique, "allocation_unique", "allocations", fixShares,
			"a reward has at most one allocation of an order", 23),
		define(checkActivity, "activity", "allocations", reportIt,
			"it completes its reward if it is the last one of an executed reward; an earlier version's has the user, "+
				"the time and the cost basis of the reward: so a user's activity adds up to the holdings", 20, 22),
		define(checkTenancy, "tenancy", "references within apps", stopServe,
			"the app exists, and what the row refers to belongs to that app", 7, 26),
		define(checkReferences, "references", "references to orders", takeBackup, "the order exists", 26),
		define(checkOrderTimes, "order_times", "orders", reportIt,
			"rewards, planning, first attempt, resolution and settlement follow in time", 12, 29),
		define(checkRewardTimes, "reward_times", "rewards", reportIt,
			"the time of execution is that of the fill that completed it, never before it was recorded", 29),
		define(checkSpending, "spending", "days", askBroker,
			"the dollars spent are the sum of the orders planned on that day", 23, 34),
		define(checkLease, "lease", "leases", checkOrders, "there is one, and its epoch is not negative", 36),
		define(checkAPIKeys, "api_keys", "keys", rotateKeys, "each has its own hash of 32 bytes"),
		define(checkUsers, "users", "users", askClient,
			"each has an email or an external id, and its email also in lower case"),
		define(checkUserUnique, "user_unique", "emails and external ids", askClient,
			"it belongs to one user of the app; emails are compared without ASCII case"),
		define(checkUserSeal, "user_seal", "sealed users", askClient,
			"the seal matches the email and the external id; only users from before the seals have no seal"),
		define(checkOperatorLog, "operator_log", "entries", findEditor,
			"each has the hash of its content and of the entry before it, up to the head that the store keeps", 24),
		define(checkOperatorState, "operator_state", "apps, keys, budgets, assets and the pause", findEditor,
			"each is as its newest log entry left it, and an entry created it"),
	}
}

// reversalDefinitions defines the checks of what was taken back.
func reversalDefinitions() []definition {
	return []definition{
		define(checkReversals, "reversals", "reversals", fixShares,
			"each has its own key and the fingerprint of its request; state, times and award fit; those of an award "+
				"are at most its amount, and all of it when it was canceled", 2, 3, 8),
		define(checkTakings, "takings", "reversals that took shares", fixShares,
			"it took its part of what the award had: floor(shares x reversed / amount) in all since the last "+
				"corporate action, the last one the rest, and its dollars of the cost basis", 16, 17, 22),
	}
}

// placeDefinitions defines the checks of how the members of orders are stored, and of what finds them.
func placeDefinitions() []definition {
	return []definition{
		define(checkPlaces, "places", "orders, their numbers, and rewards", takeBackup,
			"an order has its own number and its members have places of it, or an earlier version has booked it; "+
				"nothing is bought until an order is final", 10, 16),
		define(checkChains, "chains", "rewards", takeBackup,
			"from its place, the places before lead to each of its booked parts once; it has the shares of these; "+
				"while an order has it, it also has its place there", 9, 17),
		define(checkLots, "lots", "lots", fixShares,
			"each part that changed a holding has one, with its user, in order_lots or in a block, and nothing else "+
				"has; bookings, segments and blocks are in order, and segments have the times of their orders", 20),
		define(checkSpans, "executed_spans", "spans", takeBackup,
			"each span of 128 ms of an app's ids with an executed reward is stored once, and no other"),
	}
}

// webhookDefinitions defines the check of webhooks.
func webhookDefinitions() []definition {
	return []definition{
		define(checkWebhooks, "webhooks", "webhook endpoints, deliveries and shards", takeBackup,
			"an endpoint has a secret and a cursor up to the newest event; a delivery is of an endpoint of its app "+
				"and of an event that exists; each shard has one row"),
	}
}

// actionDefinitions defines the checks of corporate actions.
func actionDefinitions() []definition {
	return []definition{
		define(checkEffects, "effects", "effects", fixShares,
			"a switch changed each holding of its stock once, exactly as its terms say; an undo took that back", 25),
		define(checkGenerations, "generations", "holdings, orders, prices and assets", fixShares,
			"an asset's generation is the number of its switches; a holding has it, or lags by one until the sweep "+
				"reaches it; an order or a price has it or an earlier one", 25),
		define(checkSwitches, "switches", "switches", fixShares,
			"they are numbered 1, 2, 3, …, one by generation of an asset, one swept at a time; an undo follows what "+
				"it undoes; the sums are those of the effects", 25),
		define(checkActions, "actions", "corporate actions and announcements", fixShares,
			"state, times and switches fit; a ratio is the announced one; each revision of an announcement is stored "+
				"once", 25),
		define(checkActionOrders, "action_orders", "orders that were sent", askBroker,
			"none was first sent between the boundary of an action that holds its stock and its applying", 25),
		define(checkPayouts, "payouts", "payouts and users' parts", fixShares,
			"the users' parts are floor(net x shares / shares counted), at most the net in all; an award that a part "+
				"became has the app, the user and the amount, and each such award is that of one part", 19, 25),
		define(checkAppAssets, "app_assets", "apps' stocks", takeBackup,
			"each stock that a user of the app has a holding of is noted, once", 25),
	}
}
