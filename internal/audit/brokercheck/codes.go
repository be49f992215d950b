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
