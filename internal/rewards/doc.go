// Package rewards is the domain: apps and their users, rewards of stock, the orders
// that buy it, the allocations that book it, and the portfolios that show it. It knows
// no HTTP, SQL, JSON, clock or log, and its rules are pure functions: PlanOrder,
// Order.Next, Allocate, Settle, Value. Start with reward.go for the states of a reward,
// order.go for those of an order, step.go for what decides about an order, and service.go for
// the use cases of a client.
package rewards
