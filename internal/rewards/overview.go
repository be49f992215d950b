package rewards

import (
	"time"

	"stockrewards/internal/money"
)

// Overview summarizes the store. Reading it costs little, even for a large store.
type Overview struct {
	Waiting       int       // rewards that wait for an order, at most MaxCounted
	OldestWaiting time.Time // when the oldest was recorded, suspended apps excluded; zero: no reward waits
	Ordered       int       // rewards in orders that are not final
	Live          map[OrderState]int
	Actions       map[ActionState]int // actions that hold a stock, now or later
	NotionalToday money.USD           // of orders planned on this UTC day
	HouseToday    money.USD           // added by the house to small pools on this UTC day
	Budgets       []BudgetUse         // per app, in force
	Control       Control
	Alarms        []Alarm // by name
}

// MaxCounted is the number of waiting rewards at which Overview stops counting.
const MaxCounted = 100_000
