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
	checkAssetKnown
	checkAmountRange
	checkOneLiveOrder
	checkPartsSum
	checkCarriedRest
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
	checkAllocationUnique
	checkTenancy
	checkReferences
	checkOrderTimes
	checkRewardTimes
	checkSpending
	checkLease
	checkAPIKeys
	checkUsers
	checkUserUnique
	checkUserSeal
	checkOperatorLog
	checkOperatorState
	checkCount
)

// definition describes a check in a report.
type definition struct {
	check      check
	name       string
	invariants []int  // see the package comment
	unit       string // what is counted
	next       string // what to do about a violation
	rule       string
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
	rotateKeys = "stop `serve`, keep a copy, and rotate the keys of the app (`key rotate`)"
	fixShares  = "pause ordering and keep a copy; users would see wrong shares: add up the allocations, " +
		"and restore the newest backup that passes"
)

// definitions returns the definitions of all checks.
func definitions() []definition {
	return slices.Concat(
		rewardDefinitions(), orderDefinitions(), fillDefinitions(), holdingDefinitions(), otherDefinitions(),
	)
}

func list(invariants ...int) []int { return append([]int{}, invariants...) }

func rewardDefinitions() []definition {
	return []definition{
		{checkIDs, "ids", list(2, 29), "rows", takeBackup, "each has its own UUIDv7"},
		{
			checkKeyUnique, "key_unique", list(2), "rewards", askClient,
			"an app uses an idempotency key for one reward",
		},
		{
			checkFingerprint, "fingerprint", list(2), "rewards", askClient,
			"it is that of the stored fields; rewards from before the seals may omit the idempotency key",
		},
		{
			checkStatusForward, "status_forward", list(3), "rewards", checkOrders,
			"a recorded one waits and has no trace of an order; an executing or executed one was in an order; " +
				"a final one does not wait",
		},
		{
			checkExecutedComplete, "executed_complete", list(4), "rewards", fixShares,
			"executed exactly when it has a time of execution, and then bought in full, with shares",
		},
		{
			checkFailedNothingBought, "failed_nothing_bought", list(5), "rewards", fixShares,
			"failed exactly when it has a reason, and then without shares and in no live order; " +
				"only amount_too_small has allocations; a refused order fails its rewards",
		},
		{
			checkOpenFields, "open_fields", list(6), "rewards", reportIt,
			"a recorded or executing one has no time of execution and no failure reason",
		},
		{
			checkAssetKnown, "asset_known", list(7), "assets and references to them", takeBackup,
			"the asset is in the catalog, and an order has the asset of its rewards; an asset is held " +
				"exactly as its open corporate actions say",
		},
		{
			checkAmountRange, "amount_range", list(8), "rewards", askClient,
			"it is more than $0 and at most $1000000",
		},
		{
			checkOneLiveOrder, "one_live_order", list(9), "rewards", checkOrders,
			"an executing one is in exactly one live order or waits for one; any other is in no live order",
		},
		{
			checkPartsSum, "parts_sum", list(9, 17), "rewards", fixShares,
			"the booked amount is the sum of the allocations, and less than the amount while executing",
		},
		{
			checkCarriedRest, "carried_rest", list(9), "rewards", takeBackup,
			"an order carries what the orders before it left of the amount",
		},
	}
}

func orderDefinitions() []definition {
	return []definition{
		{
			checkMembersHash, "members_hash", list(10), "orders", askBroker,
			"the members are those that were sealed",
		},
		{
			checkMemberOrder, "member_order", list(10, 17), "orders", takeBackup,
			"the members have the positions 0, 1, 2, …, each reward once, in order of arrival",
		},
		{
			checkOrderAmount, "order_amount", list(11), "orders", askBroker,
			"the notional is the members' amounts and the house's part, in whole cents, $1 or more",
		},
		{
			checkClientOrderID, "client_order_id", list(12), "orders", askBroker,
			"each has its own client order id",
		},
		{
			checkOrderState, "order_state", list(12), "orders", checkOrders,
			"attempts, times, reason and fill match the state",
		},
		{
			checkOrderEnd, "order_end", list(14), "orders", askBroker,
			"a settled one has ended at the broker, and a filled one has a fill",
		},
		{
			checkResolution, "resolution", list(14), "orders", askBroker,
			"a resolved one has one resolution, with the same fill",
		},
	}
}

func fillDefinitions() []definition {
	return []definition{
		{
			checkFillCost, "fill_cost", list(15), "orders", askBroker,
			"a fill has a price and costs the notional within a cent or 0.01 %, or less when the order is not filled",
		},
		{
			checkAllocationSum, "allocation_sum", list(16, 19), "orders", fixShares,
			"the allocations and the house's shares are the filled quantity; both are zero until settled",
		},
		{
			checkHouseResidue, "house_residue", list(16), "settled orders", fixShares,
			"beyond what its own dollars bought the house has less than a billionth of a share per member",
		},
		{
			checkAllocationMember, "allocation_member", list(16), "allocations", fixShares,
			"the order is settled and carried the reward",
		},
		{
			checkOneSplit, "one_split", list(17), "members of settled orders", fixShares,
			"the carried dollars go to the members by position: at most one is split, and those after it get nothing",
		},
		{
			checkAllocationFloor, "allocation_floor", list(17), "allocations of settled orders", fixShares,
			"the shares are floor(filled quantity x part / dollars carried)",
		},
		{
			checkChildAfterParent, "child_after_parent", list(18), "rewards", checkOrders,
			"an order is settled before its reward goes into another one",
		},
		{
			checkDollarsSum, "dollars_sum", list(19), "settled orders", fixShares,
			"the carried dollars are those of the parts and of the house",
		},
	}
}

func holdingDefinitions() []definition {
	return []definition{
		{
			checkHoldingSum, "holding_sum", list(20), "holdings", fixShares,
			"the quantity is the sum of the user's allocations of the asset, and not negative",
		},
		{
			checkCustody, "custody", list(21), "assets", askBroker,
			"users and house together hold what was filled, and so does the asset's running total",
		},
		{
			checkCostBasis, "cost_basis", list(22), "holdings", fixShares,
			"the cost basis is the sum of the amounts of the user's executed rewards of the asset",
		},
		{
			checkAllocationUnique, "allocation_unique", list(23), "allocations", fixShares,
			"a reward has at most one allocation of an order",
		},
	}
}

func otherDefinitions() []definition {
	return []definition{
		{
			checkTenancy, "tenancy", list(7, 26), "references within apps", stopServe,
			"the app exists, and what the row refers to belongs to that app",
		},
		{checkReferences, "references", list(26), "references to orders", takeBackup, "the order exists"},
		{
			checkOrderTimes, "order_times", list(12, 29), "orders", reportIt,
			"rewards, planning, first attempt, resolution and settlement follow in time",
		},
		{
			checkRewardTimes, "reward_times", list(29), "rewards", reportIt,
			"the time of execution is that of the fill that completed it, never before it was recorded",
		},
		{
			checkSpending, "spending", list(23, 34), "days", askBroker,
			"the dollars spent are the sum of the orders planned on that day",
		},
		{checkLease, "lease", list(36), "leases", checkOrders, "there is one, and its epoch is not negative"},
		{checkAPIKeys, "api_keys", list(), "keys", rotateKeys, "each has its own hash of 32 bytes"},
		{
			checkUsers, "users", list(), "users", askClient,
			"each has an email or an external id, and its email also in lower case",
		},
		{
			checkUserUnique, "user_unique", list(), "emails and external ids", askClient,
			"it belongs to one user of the app; emails are compared without ASCII case",
		},
		{
			checkUserSeal, "user_seal", list(), "sealed users", askClient,
			"the seal matches the email and the external id; only users from before the seals have no seal",
		},
		{
			checkOperatorLog, "operator_log", list(24), "entries", findEditor,
			"each has the hash of its content and of the entry before it, up to the head that the store keeps",
		},
		{
			checkOperatorState, "operator_state", list(), "apps, keys, assets and the pause", findEditor,
			"each is as its newest log entry left it, and an entry created it",
		},
	}
}
