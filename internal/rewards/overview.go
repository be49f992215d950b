package rewards

import (
	"time"

	"stockrewards/internal/money"
)

// Overview is how the books stand, as far as it can be read at little cost however
// large they are.
type Overview struct {
	Waiting       int       // rewards that wait for an order, at most MaxCounted
	OldestWaiting time.Time // when the first of them was recorded; suspended apps' do not count; zero: none waits
	Ordered       int       // rewards in orders that are not final
	Live          map[OrderState]int
	Actions       map[ActionState]int // that hold a stock, now or later
	NotionalToday money.USD           // of the orders planned on this UTC day
	HouseToday    money.USD           // what the house added to small pools on it
	Control       Control
	Alarms        []Alarm // by name
}

// MaxCounted is where Overview stops counting what waits.
const MaxCounted = 100_000
