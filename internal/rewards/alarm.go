package rewards

import (
	"strings"
	"time"
)

// Alarm is a condition that an operator should look at. It clears by itself when the
// condition ends.
type Alarm struct {
	Name    string // stable; one of the names below
	Message string
	Since   time.Time
}

// The names of alarms. A name that ends in a colon is a prefix: the id of the order or of
// the corporate action or the webhook endpoint, the stock's symbol, the app and its budget, or the host
// follows.
const (
	AlarmOrderQuarantined = "order_quarantined:"
	AlarmOrderWaits       = "order_waits:"
	AlarmPriceInDoubt     = "price_in_doubt:"
	AlarmOrderQuantity    = "order_quantity:"
	AlarmAction           = "corporate_action:"
	AlarmClockAhead       = "clock_ahead:"
	AlarmHouseOwes        = "house_owes:"
	AlarmFillCorrected    = "fill_corrected:"
	AlarmBudgetAlmost     = "budget_almost_used:"
	AlarmBudgetUsed       = "budget_used:"
	AlarmWebhookFailing   = "webhook_failing:"
	AlarmWebhookDisabled  = "webhook_disabled:"

	AlarmPaused         = "ordering_paused"
	AlarmConflict       = "broker_conflict"
	AlarmActionsUnknown = "corporate_actions_unknown"
	AlarmDailyLimit     = "daily_notional_limit"
	AlarmHouseLimit     = "house_daily_limit"
	AlarmHouseAppLimit  = "house_daily_limit_per_app"

	AlarmAccountUnknown   = "broker_account_unknown"
	AlarmAccountDiffers   = "broker_account_differs"
	AlarmClockUnknown     = "broker_clock_unknown"
	AlarmClockRefused     = "broker_clock_refused"
	AlarmOrdersUnknown    = "broker_orders_unknown"
	AlarmNotCompared      = "broker_orders_not_compared"
	AlarmPositionsUnknown = "broker_positions_unknown"

	AlarmActivitiesUnknown = "broker_activities_unknown"
)

// Kind returns the alarm's name without the order, stock or host that it is about.
func (a Alarm) Kind() string {
	kind, _, _ := strings.Cut(a.Name, ":")
	return kind
}
