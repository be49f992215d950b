package rewards

// FailureCode is the stable code for why a reward failed. Client programs read it; the API
// document lists all of them.
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

// FailureCodes returns every code that a failure reason can begin with.
func FailureCodes() []FailureCode {
	return []FailureCode{
		FailureAmountTooSmall, FailureAssetNotFound, FailureAssetNotFractionable, FailureAssetNotTradable,
		FailureCanceled, FailureNotionalTooSmall, FailureOrderRefused, FailureOrderRejected,
	}
}

// FailureReason returns the reason of a failed reward as clients read it: "<code>: <text>".
func FailureReason(code FailureCode, text string) string { return string(code) + ": " + text }
