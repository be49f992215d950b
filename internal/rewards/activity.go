package rewards

import (
	"strings"
	"time"

	"stockrewards/internal/money"
)

// ActivityCategory is the broker's category of activities.
type ActivityCategory string

// The categories.
const (
	TradeActivities ActivityCategory = "trade_activity" // fills of orders, and their corrections
	OtherActivities ActivityCategory = "non_trade_activity"
)

// Activity is an entry of the broker's account activities: a fill, a change of a position, or
// cash. It is stored as received and never changed.
type Activity struct {
	ID      string // the broker's; it begins with the time of the event, which may be long before CreatedAt
	Type    string // the broker's word: "SPLIT"
	SubType string // the broker's word: "FSPLIT"; of a fill "fill", "partial_fill", "trade_bust" or "trade_correct"
	Status  string // "executed", "correct" or "canceled"; "" for a fill
	GroupID string // shared by activities that belong together; "" if missing

	// Previous names the activity that this one corrects or cancels: its id, or only the part
	// after "::". It is "" for an activity that changes no other.
	Previous string

	OrderID   string       // the broker's, of a fill; "" otherwise
	Symbol    string       // "" if it is about no stock
	Date      Date         // of a booking; "" if missing
	CreatedAt time.Time    // of a fill, when it was traded; zero if missing
	Qty       money.Shares // signed, what it adds; of a dividend, the shares that the broker counted
	CumQty    money.Shares // of a fill: all that the order has filled
	Price     money.Price  // of a fill, or of the stock at a booking; 0 if missing
	Net       money.USD    // signed: what the account received, rounded towards zero
	PerShare  string       // dollars for a share, as written; "" if missing
	Body      string       // as received, members in order of their names

	// Problem names a member that cannot be read, for example "qty: too many decimals". That
	// member is zero above, and the activity must not be trusted. It is "" for a valid activity.
	Problem string
}

// MovesPosition reports whether the activity's quantity changes the position. That of a cash dividend is the shares
// that it was paid for (alpaca: trading-api.json, NonTradeActivities).
func (n Activity) MovesPosition() bool {
	return n.Qty != 0 && n.Type != "FILL" && (!strings.HasPrefix(n.Type, activityDividend) || n.SubType == "SDIV")
}
