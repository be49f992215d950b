package rewards

// FailureCode says in a stable word why a reward failed. Clients' programs read it;
// the API document lists every code.
type FailureCode string

// The failure codes.
const (
	FailureAmountTooSmall       FailureCode = "amount_too_small"
	FailureAssetNotFound        FailureCode = "asset_not_found"
	FailureAssetNotFractionable FailureCode = "asset_not_fractionable"
	FailureAssetNotTradable     FailureCode = "asset_not_tradable"
	FailureCanceled             FailureCode = "canceled"
	FailureNotionalTooSmall     FailureCode = "notional_too_small"
	FailureOrderRefused         FailureCode = "order_refused"
	FailureOrderRejected        FailureCode = "order_rejected"
)

// FailureCodes lists every code with which a failure reason can begin.
func FailureCodes() []FailureCode {
	return []FailureCode{
		FailureAmountTooSmall, FailureAssetNotFound, FailureAssetNotFractionable, FailureAssetNotTradable,
		FailureCanceled, FailureNotionalTooSmall, FailureOrderRefused, FailureOrderRejected,
	}
}

// FailureReason is the reason of a failed reward as clients read it: "<code>: <text>".
func FailureReason(code FailureCode, text string) string { return string(code) + ": " + text }
