package rewards

import (
	"time"

	"stockrewards/internal/money"
)

// Shortage is what the house owes to users: the broker paid fractions in cash, or took shares back.
// Users keep what they were shown.
type Shortage struct {
	Asset Asset
	Owed  money.Shares
	Since time.Time // broker's; zero: unknown
}

// aloneAfter is how long the house waits for awards of the stock before it orders alone: a session.
const aloneAfter = 24 * time.Hour

// Alone reports whether the house orders without an award at the broker's time now.
func (s Shortage) Alone(now time.Time) bool {
	return !s.Since.IsZero() && now.Sub(s.Since) >= aloneAfter
}
