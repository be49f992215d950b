package audit

// The codes of a breaks report. docs/operations.md describes them.
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

// What to do next.
const (
	lookAtAudit = "run `stockrewards audit`: if it finds the order too, the file was changed by other hands; " +
		"pause ordering and compare with a backup"
	askTheBroker = "pause ordering (`stockrewards fulfillment pause`) and ask the broker what happened to the order; " +
		"its statement decides"
	startServe = "see whether `stockrewards serve` runs and what `stockrewards fulfillment status` says: " +
		"it books the order by itself"
	seeAlarms = "the broker refuses it for a reason that passes: see the alarms of " +
		"`stockrewards fulfillment status`"
	nothing            = "nothing: it is under way"
	acknowledgeOrAdopt = "after an old backup was restored: `stockrewards order adopt`; " +
		"otherwise find out who sent it, then `stockrewards order acknowledge`"
	decide = "ask the broker what was bought, then `stockrewards order resolve` " +
		"(`stockrewards order show` tells more)"
	unsentAtBroker = "the books are an old copy, or a second installation runs on one: stop it; " +
		"`stockrewards fulfillment status` tells how ordering stands"
	explainPosition = "was there a split, a transfer or a trade by hand in this stock? pause ordering until " +
		"the broker's statement explains it; `stockrewards audit` checks our side"
	foreignStock = "nothing, if the account is shared; nobody was given this stock by the service"
)
