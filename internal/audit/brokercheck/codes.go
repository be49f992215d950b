package brokercheck

// The codes of items. docs/backup.md describes them.
const (
	codeUnknown      = "order_unknown"
	codeMissing      = "order_missing"
	codeNotSent      = "order_not_sent"
	codeUnreadable   = "order_unreadable"
	codeBrokerID     = "broker_id_differs"
	codeSymbol       = "symbol_differs"
	codeSide         = "side_differs"
	codeNotional     = "notional_differs"
	codeFilled       = "filled_differs"
	codeStatus       = "status_differs"
	codePrice        = "price_differs"
	codeRefusedKnown = "refused_but_known"
	codeUndecided    = "order_undecided"
	codeUnbooked     = "order_unbooked"
	codeUnnoticed    = "order_unnoticed"
	codePartly       = "order_partly_filled"
	codeInFlight     = "order_in_flight"
	codeWaits        = "order_waits"
	codeResolved     = "order_resolved"
	codeAcknowledged = "conflict_acknowledged"
	codePosition     = "position_differs"
	codeForeign      = "position_foreign"
)

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
	explainPosition = "was there a split, a transfer or a manual trade of this asset? pause ordering until " +
		"the broker's statement explains it; `stockrewards audit` checks our side"
	foreignAsset = "nothing, if the account is shared; the service never ordered this asset"
	compareAgain = "one of two readings has it; compare again"
)
