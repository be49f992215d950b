package value

// The stored states of an order.
const (
	Planned = iota + 1
	Submitted
	Open
	Quarantined
	Resolved
	Settled
	Refused
)

// OrderState names the state of an order; 0 is a missing order.
func OrderState(state int64) string {
	names := [...]string{
		"missing", "planned", "submitted", "open", "quarantined", "resolved", "settled", "refused",
	}
	if state < 0 || state >= int64(len(names)) {
		return "in state " + Int(state)
	}
	return names[state]
}

// EndedAtBroker reports whether a broker's status is final.
func EndedAtBroker(status string) bool {
	switch status {
	case "filled", "canceled", "expired", "rejected":
		return true
	}
	return false
}
