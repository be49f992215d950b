package rewards

import (
	"time"

	"stockrewards/internal/money"
)

// Activity is an entry of the broker's account activities: a fill, a change of a position, or
// cash. It is stored as received and never changed.
type Activity struct {
	ID        string // the broker's; ids are in order of time
	Type      string // the broker's word: "SPLIT"
	SubType   string // the broker's word: "FSPLIT"; "" if there is none
	Status    string // "executed", "correct" or "canceled"; "" for a fill
	GroupID   string // of activities that belong together; "" if there is none
	Previous  string // id of the activity that this one corrects or cancels; "" if there is none
	OrderID   string // the broker's, of a fill; "" otherwise
	Symbol    string // "" if it is about no stock
	Date      Date   // of a booking; "" if missing
	CreatedAt time.Time
	Qty       money.Shares // signed; of a fill, what it filled
	CumQty    money.Shares // of a fill: all that the order has filled
	Price     money.Price  // of a fill, or of the stock at a spin-off; 0 if missing
	Net       money.USD    // signed: what the account received
	PerShare  string       // dollars for a share, as written; "" if missing
	Body      string       // as received
}
