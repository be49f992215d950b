package fulfillment

import (
	"context"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Store keeps orders and books. Every method that takes a lease writes nothing and
// fails with rewards.ErrLostLease when another process leads; with rewards.ErrStale
// when the order is not in the state any more that the caller saw. Repeating a
// call after an error is safe.
type Store interface {
	LeaseStore
	OrderStore
	ControlStore
	ActionStore
}

// LeaseStore makes one process the leader.
type LeaseStore interface {
	// TakeLease takes or renews the lease; epoch zero means that another one leads.
	TakeLease(ctx context.Context, holder string, ttl time.Duration, force bool) (rewards.Lease, error)
	// DropLease ends the lease early.
	DropLease(ctx context.Context, l rewards.Lease) error
}

// OrderStore moves orders through their states.
type OrderStore interface {
	// LiveOrders lists the orders that are not final, oldest first.
	LiveOrders(ctx context.Context) ([]rewards.Order, error)
	// Pools lists the assets that rewards wait for, longest waiting first.
	Pools(ctx context.Context) ([]rewards.Pool, error)
	// PlanOrder freezes waiting rewards into an order, or tells why not.
	PlanOrder(ctx context.Context, l rewards.Lease, r rewards.PlanRequest) (rewards.Order, rewards.Hold, error)
	// BeginAttempt counts a send before it is made.
	BeginAttempt(ctx context.Context, l rewards.Lease, o rewards.Order, next, deadline time.Time) (rewards.Order, error)
	// SaveOrder stores an order that was in the state from.
	SaveOrder(ctx context.Context, l rewards.Lease, from rewards.OrderState, o rewards.Order) error
	// SettleOrder books the end of an order as book decides.
	SettleOrder(ctx context.Context, l rewards.Lease, from rewards.OrderState, o rewards.Order,
		book func([]rewards.Claim) (rewards.Settlement, error)) error
	// OrdersByClientID finds the orders of ours among these ids.
	OrdersByClientID(ctx context.Context, ids []string) (map[string]rewards.Order, error)
}

// ControlStore keeps the brakes and the alarms.
type ControlStore interface {
	// SaveBrakes keeps the limits that this process orders by.
	SaveBrakes(ctx context.Context, l rewards.Lease, b rewards.Brakes) error
	// Control tells whether ordering is stopped.
	Control(ctx context.Context) (rewards.Control, error)
	// PinnedAccount is the broker's account that the books belong to; "" before the first.
	PinnedAccount(ctx context.Context) (string, error)
	// Alarms lists the standing alarms.
	Alarms(ctx context.Context) ([]rewards.Alarm, error)
	// RaiseAlarm stores an alarm.
	RaiseAlarm(ctx context.Context, name, message string) error
	// ClearAlarm ends an alarm.
	ClearAlarm(ctx context.Context, name string) error
	// ReconciledUntil is up to when the broker's orders were compared with ours.
	ReconciledUntil(ctx context.Context) (time.Time, error)
	// SaveReconciliation stores conflicts found and the moment compared up to.
	SaveReconciliation(ctx context.Context, found []rewards.BrokerConflict, until time.Time) error
}

// ActionStore keeps corporate actions, what they hold, and what the books have of each
// stock.
type ActionStore interface {
	// Assets lists the catalog.
	Assets(ctx context.Context) ([]rewards.Asset, error)
	// OpenActions lists the actions that hold a stock now or later.
	OpenActions(ctx context.Context, today rewards.Date) ([]rewards.Action, error)
	// ActionsSince lists the actions processed on a day or later, or not over.
	ActionsSince(ctx context.Context, day rewards.Date) ([]rewards.Action, error)
	// LastBodies reads what was last announced of those, by their ids.
	LastBodies(ctx context.Context, day rewards.Date) (map[string]string, error)
	// ChangeActions stores changes of actions, all or none.
	ChangeActions(ctx context.Context, l rewards.Lease, changes []rewards.ActionChange) error
	// AssetHold reads from when an asset is held.
	AssetHold(ctx context.Context, id rewards.AssetID) (rewards.ActionHold, error)
	// Booked lists what the books have of each stock that was ever bought.
	Booked(ctx context.Context) ([]rewards.BookedPosition, error)
	// SaveDifferences stores by how much the broker's positions differ from that.
	SaveDifferences(ctx context.Context, l rewards.Lease, differences map[rewards.AssetID]money.Shares) error
}
