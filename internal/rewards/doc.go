// Package rewards is the domain: apps and their users, rewards of stock, the
// orders that buy it, the allocations that book it, and the portfolios that show
// it. It promises rules without surroundings: it knows no HTTP, SQL, JSON, clock
// or log, and Plan, Merge, Allocate, Settle and Value are pure functions. Start
// at reward.go for the states of a reward, order.go for those of an order and
// service.go for what a client can ask.
package rewards
