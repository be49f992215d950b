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

// definition is the text of a check.
type definition struct {
	check      check
	name       string
	invariants []int
	unit       string // what is counted
	rule       string
}

// definitions is the table of the checks.
func definitions() []definition {
	return slices.Concat(
		rewardDefinitions(), orderDefinitions(), fillDefinitions(), bookDefinitions(), otherDefinitions(),
	)
}

func list(invariants ...int) []int { return append([]int{}, invariants...) }

// rewardDefinitions are the checks of single rewards.
func rewardDefinitions() []definition {
	return []definition{
		{checkIDs, "ids", list(2, 29), "rows", "each has a UUIDv7 of its own"},
		{checkKeyUnique, "key_unique", list(2), "rewards", "an app gives one idempotency key to one reward"},
		{
			checkFingerprint, "fingerprint", list(2), "rewards",
			"it is that of the stored fields, the idempotency key included but in rewards from before the seals",
		},
		{
			checkStatusForward, "status_forward", list(3), "rewards",
			"a recorded one waits, without a trace of an order; an executing or executed one has been in " +
				"one; a final one does not wait",
		},
		{
			checkExecutedComplete, "executed_complete", list(4), "rewards",
			"executed exactly when there is a time of execution, and then bought in full, with shares",
		},
		{
			checkFailedNothingBought, "failed_nothing_bought", list(5), "rewards",
			"failed exactly when there is a reason, and then without shares and in no live order; " +
				"only amount_too_small has allocations; a refused order fails its rewards",
		},
		{
			checkOpenFields, "open_fields", list(6), "rewards",
			"a recorded or executing one has no time of execution and no reason of failure",
		},
		{
			checkAssetKnown, "asset_known", list(7), "assets and references to them",
			"the asset is in the catalog, and an order's is that of its rewards; it is held when an open " +
				"corporate action says so",
		},
		{checkAmountRange, "amount_range", list(8), "rewards", "it is more than $0 and at most $1000000"},
		{
			checkOneLiveOrder, "one_live_order", list(9), "rewards",
			"an executing one is in exactly one live order or waits for one; any other is in none",
		},
		{
			checkPartsSum, "parts_sum", list(9, 17), "rewards",
			"what is booked is the sum of the allocations, and less than the amount while executing",
		},
		{
			checkCarriedRest, "carried_rest", list(9), "rewards",
			"an order carries what the orders before it left of the amount",
		},
	}
}

// orderDefinitions are the checks of single orders.
func orderDefinitions() []definition {
	return []definition{
		{checkMembersHash, "members_hash", list(10), "orders", "the members are those that were sealed"},
		{
			checkMemberOrder, "member_order", list(10, 17), "orders",
			"the members have the positions from 0 on, each reward once, in order of arrival",
		},
		{
			checkOrderAmount, "order_amount", list(11), "orders",
			"the notional is the members' amounts and the house's part, in whole cents, $1 or more",
		},
		{checkClientOrderID, "client_order_id", list(12), "orders", "each has a client order id of its own"},
		{
			checkOrderState, "order_state", list(12), "orders",
			"attempts, times, reason and fill are those of the state",
		},
		{
			checkOrderEnd, "order_end", list(14), "orders",
			"a settled one has ended at the broker, and a filled one has a fill",
		},
		{
			checkResolution, "resolution", list(14), "orders",
			"a resolved one has one resolution, and the fill that it tells",
		},
	}
}

// fillDefinitions are the checks of what an order brought.
func fillDefinitions() []definition {
	return []definition{
		{
			checkFillCost, "fill_cost", list(15), "orders",
			"a fill has a price and costs the notional, give or take a cent or 0.01 %, or less when not filled",
		},
		{
			checkAllocationSum, "allocation_sum", list(16, 19), "orders",
			"the allocations and the house's shares are the filled quantity; nothing before it is settled",
		},
		{
			checkHouseResidue, "house_residue", list(16), "settled orders",
			"beyond what its own dollars bought the house has less than a billionth of a share per member",
		},
		{
			checkAllocationMember, "allocation_member", list(16), "allocations",
			"the order is settled and carried the reward",
		},
		{
			checkOneSplit, "one_split", list(17), "members of settled orders",
			"carried dollars go to the members by position: one at most is split, those after it get nothing",
		},
		{
			checkAllocationFloor, "allocation_floor", list(17), "allocations of settled orders",
			"the shares are floor(filled quantity x part / dollars carried)",
		},
		{
			checkChildAfterParent, "child_after_parent", list(18), "rewards",
			"an order is settled before its reward goes into another one",
		},
		{
			checkDollarsSum, "dollars_sum", list(19), "settled orders",
			"the dollars carried are those of the parts and of the house",
		},
	}
}

// bookDefinitions are the checks of what is held.
func bookDefinitions() []definition {
	return []definition{
		{
			checkHoldingSum, "holding_sum", list(20), "holdings",
			"the quantity is the sum of the user's allocations of the asset, and not negative",
		},
		{
			checkCustody, "custody", list(21), "assets",
			"users and house hold together what was filled, and so does the stock's running total",
		},
		{
			checkCostBasis, "cost_basis", list(22), "holdings",
			"the cost basis is the sum of the amounts of the user's executed rewards of the asset",
		},
		{
			checkAllocationUnique, "allocation_unique", list(23), "allocations",
			"there is one of a reward and an order",
		},
	}
}

// otherDefinitions are the checks of references, times, limits and clients' data.
func otherDefinitions() []definition {
	return []definition{
		{
			checkTenancy, "tenancy", list(7, 26), "references within apps",
			"the app exists, and what is named beside it is of that app",
		},
		{checkReferences, "references", list(26), "references to orders", "the order exists"},
		{
			checkOrderTimes, "order_times", list(12, 29), "orders",
			"rewards, planning, first attempt, resolution and settlement follow in time",
		},
		{
			checkRewardTimes, "reward_times", list(29), "rewards",
			"the time of execution is that of the fill that completed it, never before it was recorded",
		},
		{
			checkSpending, "spending", list(23, 34), "days",
			"what was spent is the sum of the orders planned on that day",
		},
		{checkLease, "lease", list(36), "leases", "there is one, its epoch not negative"},
		{checkAPIKeys, "api_keys", list(), "keys", "each has a hash of 32 bytes of its own"},
		{
			checkUsers, "users", list(), "users",
			"each has an email or an external id, and beside its email that in lower case",
		},
		{
			checkUserUnique, "user_unique", list(), "emails and external ids",
			"it is of one user of the app, an email without regard to ASCII case",
		},
		{
			checkUserSeal, "user_seal", list(), "sealed users",
			"the seal is that of the email and the external id; every user has one, but those from before the seals",
		},
		{
			checkOperatorLog, "operator_log", list(24), "deeds",
			"each has the hash of its content and of the deed before it, up to the head that the books keep",
		},
		{
			checkOperatorState, "operator_state", list(), "apps, keys, stocks and the pause",
			"each is as the newest deed of an operator left it, and was made by one",
		},
	}
}
