package brokercheck

// What to do about an item.
const (
	runAudit = "run `stockrewards audit`: if it reports the order too, somebody else changed the database; " +
		"pause ordering and compare with a backup"
	askBroker = "pause ordering (`stockrewards fulfillment pause`) and ask the broker what happened to the order; " +
		"its statement decides"
	checkServe = "check that `stockrewards serve` runs, and run `stockrewards fulfillment status`: " +
		"serve settles the order by itself"
	seeAlarms = "the broker refuses it for a temporary reason: see the alarms of " +
		"`stockrewards fulfillment status`"
	nothing            = "nothing: it is under way"
	operatorResolved   = "nothing: an operator resolved it"
	acknowledged       = "nothing: acknowledged: "
	adoptOrAcknowledge = "after restoring an old backup: `stockrewards order adopt`; " +
		"otherwise find out who sent it, then `stockrewards order acknowledge`"
	resolve = "ask the broker what was bought, then `stockrewards order resolve` " +
		"(`stockrewards order show` shows the details)"
	stopCopy = "the store is an old copy, or another installation runs on a copy: stop it; " +
		"`stockrewards fulfillment status` shows the state of ordering"
	explainPosition = "does an action of `stockrewards action list` that is not applied yet explain it? otherwise, " +
		"was there a split, a transfer or a manual trade of this asset? pause ordering until " +
		"the broker's statement explains it; `stockrewards audit` checks our side"
	foreignAsset = "nothing, if the account is shared; the service never ordered this asset"
	compareAgain = "one of two readings has it; compare again"
)
