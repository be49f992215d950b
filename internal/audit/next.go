package audit

// What to do about a violation. All begin alike: ordering is paused and the damaged
// file is kept, as docs/operations.md says under "Audit".
const (
	compareFirst = "pause ordering, keep a copy, and run `audit --broker`: the broker tells what was really bought"
	takeBackup   = "pause ordering, keep a copy, and compare the row with the newest backup that holds"
	tellSupport  = "pause ordering, keep a copy, and report it with the row: `serve` never writes this"
	stopServe    = "stop `serve` at once, keep a copy, and find out who can see whose data"
	askTheClient = "keep a copy; the request that made the row is in the client's records: compare them"
	waitOrSee    = "see `order show` and `fulfillment status`; do not let anything be ordered twice: pause ordering"
	whoWrote     = "keep a copy; somebody changed the database by other means than the commands: find out who " +
		"can write to it, set right by command what was changed, and compare `log verify --head` with the head " +
		"that you keep"
	turnKeys     = "stop `serve`, keep a copy, and rotate the keys of the app (`key rotate`)"
	sharesAreOff = "pause ordering and keep a copy; users would see wrong shares: add up the allocations, " +
		"and take the newest backup that holds"
)

// nextStep is what to do when a check does not hold.
func nextStep(c check) string {
	switch c {
	case checkTenancy:
		return stopServe
	case checkOperatorLog, checkOperatorState:
		return whoWrote
	case checkAPIKeys:
		return turnKeys
	case checkFingerprint, checkKeyUnique, checkAmountRange, checkUsers, checkUserUnique, checkUserSeal:
		return askTheClient
	case checkOneLiveOrder, checkChildAfterParent, checkStatusForward, checkOrderState, checkLease:
		return waitOrSee
	case checkOrderEnd, checkResolution, checkFillCost, checkCustody, checkClientOrderID,
		checkMembersHash, checkOrderAmount, checkSpending:
		return compareFirst
	case checkHoldingSum, checkCostBasis, checkAllocationSum, checkHouseResidue, checkAllocationFloor,
		checkAllocationMember, checkAllocationUnique, checkOneSplit, checkDollarsSum, checkPartsSum,
		checkExecutedComplete, checkFailedNothingBought:
		return sharesAreOff
	case checkIDs, checkReferences, checkAssetKnown, checkMemberOrder, checkCarriedRest:
		return takeBackup
	case checkOpenFields, checkOrderTimes, checkRewardTimes, checkCount:
	}
	return tellSupport
}
