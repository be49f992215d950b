package fulfillment

import (
	"context"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Broker takes orders and reports them. rewards.BrokerKindOf says what an error of a call
// means for the request.
type Broker interface {
	// Submit sends an order and returns it as the broker has it. The broker accepts one order
	// per client order id; another with the same id is a BrokerDuplicate.
	Submit(ctx context.Context, r rewards.OrderRequest) (rewards.BrokerOrder, error)
	// OrderByClientID reads an order. BrokerNotFound does not prove that the order will never
	// appear.
	OrderByClientID(ctx context.Context, clientOrderID string) (rewards.BrokerOrder, error)
	// OrderByID reads an order of the account by the broker's id. Without such an order it fails with BrokerNotFound.
	OrderByID(ctx context.Context, id string) (rewards.BrokerOrder, error)
	// Orders lists every order submitted after a moment of the broker's time. It calls between before each page but
	// the first, and fails with its error.
	Orders(ctx context.Context, after time.Time, between func(context.Context) error) ([]rewards.BrokerOrder, error)
	// Account is the account that orders are placed in.
	Account(ctx context.Context) (rewards.BrokerAccount, error)
	// Announcements is a page of the corporate actions with a process date from one day to
	// another; token and next chain the pages. It fails with BrokerNotFound when the broker
	// offers none.
	Announcements(ctx context.Context, from, to rewards.Date, token string) (
		page []rewards.Announcement, next string, err error)
	// Activities is a page of the account's activities created after a moment, oldest first; token
	// and next chain the pages.
	Activities(ctx context.Context, category rewards.ActivityCategory, after time.Time, token string) (
		page []rewards.Activity, next string, err error,
	)
	// Sessions lists the market's days from one day to another, in order.
	Sessions(ctx context.Context, from, to rewards.Date) ([]rewards.Date, error)
	// Positions lists what the account holds.
	Positions(ctx context.Context) ([]rewards.Position, error)
	// Ready reports whether the broker's rate limit allows a call now.
	Ready() bool
}

// Market knows the market's hours and prices.
type Market interface {
	// Clock is the market's hours now, in the broker's time. It fails with
	// rewards.ErrClockRefused when the broker's clock cannot be trusted.
	Clock(ctx context.Context) (rewards.MarketClock, error)
	// ClockNow is what Clock is, read from the broker at this moment.
	ClockNow(ctx context.Context) (rewards.MarketClock, error)
	// ClockRefused is why the last reading of the broker's clock was refused, or nil.
	ClockRefused() error
	// LastPrice is the last price of an asset; zero when unknown.
	LastPrice(asset rewards.AssetID) money.Price
	// Levels are the prices of an asset that the price of a fill is compared with; empty when
	// no price is known.
	Levels(asset rewards.AssetID) []money.Price
	// PricedAt is our time when the broker was last asked for the price of an asset and reported one; zero: unknown.
	// The call reads no later than Levels do that are read after it.
	PricedAt(asset rewards.AssetID) time.Time
	// OpenSince is how long the market was open since a moment of our time.
	OpenSince(moment time.Time) time.Duration
	// FirstTrade is the price of the first known trade, as the broker reported it, and its time, of those
	// at the broker's time from or later; otherwise 0.
	FirstTrade(asset rewards.AssetID, from time.Time) (money.Price, time.Time)
	// Reload reads the stored prices, and the units of the assets.
	Reload(ctx context.Context) error
	// Refresh reads the prices of all assets that need one.
	Refresh(ctx context.Context) error
	// Doubts lists the symbols whose price is in doubt.
	Doubts() []string
}

// Store keeps orders and everything else that is durable. A method that takes a lease writes
// nothing and fails with rewards.ErrLostLease when another process leads, and with
// rewards.ErrStale when the order or action has changed since it was read. Any call may be
// repeated after an error.
type Store interface {
	LeaseStore
	OrderStore
	ControlStore
	ActionStore
}

// LeaseStore makes one process the leader.
type LeaseStore interface {
	// TakeLease takes or renews the lease. Epoch zero means that another process leads.
	TakeLease(ctx context.Context, holder string, ttl time.Duration, force bool) (rewards.Lease, error)
	// DropLease ends the lease early.
	DropLease(ctx context.Context, l rewards.Lease) error
}

// OrderStore keeps orders and changes their states. A power failure may undo what PlanOrder, SaveOrder and SettleOrders
// wrote last, up to the last BeginAttempt: then the worker does it again.
type OrderStore interface {
	// LiveOrders lists the orders that are not final, oldest first.
	LiveOrders(ctx context.Context) ([]rewards.Order, error)
	// Pools lists the assets that rewards wait for, longest waiting first.
	Pools(ctx context.Context) ([]rewards.Pool, error)
	// PlanOrder freezes waiting rewards into an order, or returns why they must wait.
	PlanOrder(ctx context.Context, l rewards.Lease, r rewards.PlanRequest) (rewards.Order, rewards.Hold, error)
	// BeginAttempt counts a send before it is made. It is durable when BeginAttempt returns.
	BeginAttempt(ctx context.Context, l rewards.Lease, o rewards.Order, next, deadline time.Time) (rewards.Order, error)
	// SaveOrder stores an order whose state was from.
	SaveOrder(ctx context.Context, l rewards.Lease, from rewards.OrderState, o rewards.Order) error
	// SettleOrders books the ends of the first orders of a list in one transaction, and returns of how many. When
	// one of them cannot be booked, none is. With Config.BookBeside it runs at the same time as the other methods.
	SettleOrders(ctx context.Context, l rewards.Lease, list ...rewards.OrderEnd) (int, error)
	// CompleteReversals takes the shares of executed rewards that operators took back, and returns how many.
	CompleteReversals(ctx context.Context, l rewards.Lease) (int, error)
	// OrdersByClientID returns our orders among these client order ids.
	OrdersByClientID(ctx context.Context, ids []string) (map[string]rewards.Order, error)
}

// ControlStore keeps the brakes, the alarms and the comparison with the broker's orders.
type ControlStore interface {
	// SaveBrakes stores the limits that this process orders by.
	SaveBrakes(ctx context.Context, l rewards.Lease, b rewards.Brakes) error
	// Control reads whether ordering is stopped.
	Control(ctx context.Context) (rewards.Control, error)
	// PinnedAccount is the broker's account that the store belongs to; "" before the first.
	PinnedAccount(ctx context.Context) (string, error)
	// AppBudgets lists the budgets per app of all apps, with what is used of them.
	AppBudgets(ctx context.Context) ([]rewards.BudgetUse, error)
	// Alarms lists the active alarms.
	Alarms(ctx context.Context) ([]rewards.Alarm, error)
	// SaveAlarms raises alarms, or gives them another message, and ends others.
	SaveAlarms(ctx context.Context, l rewards.Lease, raised []rewards.Alarm, ended []string) error
	// Standstills lists why nothing is ordered of which stocks.
	Standstills(ctx context.Context) ([]rewards.Standstill, error)
	// SaveStandstills ends those of some stocks and begins others.
	SaveStandstills(ctx context.Context, l rewards.Lease, ended []rewards.AssetID, begun []rewards.Standstill) error
	// AllWebhookEndpoints lists the webhook endpoints of every app.
	AllWebhookEndpoints(ctx context.Context) ([]rewards.WebhookEndpoint, error)
	// ReconciledUntil is the moment up to which the broker's orders were compared with ours.
	ReconciledUntil(ctx context.Context) (time.Time, error)
	// Conflicts lists the conflicts that were found, with those that an operator has acknowledged.
	Conflicts(ctx context.Context) ([]rewards.BrokerConflict, error)
	// SaveReconciliation stores conflicts found and the moment compared up to.
	SaveReconciliation(ctx context.Context, l rewards.Lease, found []rewards.BrokerConflict, until time.Time) error
}

// ActionStore keeps corporate actions, their holds, and the booked quantity of each stock.
type ActionStore interface {
	// Assets lists the catalog.
	Assets(ctx context.Context) ([]rewards.Asset, error)
	// OpenActions lists the actions that hold a stock now or later.
	OpenActions(ctx context.Context, today rewards.Date) ([]rewards.Action, error)
	// ActionsSince lists the actions processed on a day or later, still open, or of these ids.
	ActionsSince(ctx context.Context, day rewards.Date, ids []string) ([]rewards.Action, error)
	// LastBodies reads the last announcement of each of those, by action id.
	LastBodies(ctx context.Context, day rewards.Date, ids []string) (map[string]string, error)
	// ChangeActions stores changes of actions, all or none.
	ChangeActions(ctx context.Context, l rewards.Lease, changes []rewards.ActionChange) error
	// AssetHold reads since when an asset is held.
	AssetHold(ctx context.Context, id rewards.AssetID) (rewards.ActionHold, error)
	// Booked lists the booked quantity of each stock that was ever bought.
	Booked(ctx context.Context) ([]rewards.BookedPosition, error)
	// Actions lists the actions of a symbol in a state, latest ex-date first; 0 and "" do not filter.
	Actions(ctx context.Context, state rewards.ActionState, symbol string, limit int) ([]rewards.Action, error)
	// EnsureAsset returns the stock with a symbol, and adds one that cannot be given if it is missing.
	EnsureAsset(ctx context.Context, l rewards.Lease, symbol, brokerID string) (rewards.Asset, error)
	// ApplyAction applies an action: every reader sees the new units.
	ApplyAction(ctx context.Context, l rewards.Lease, c rewards.ActionChange, w rewards.Switch,
		r rewards.Renaming) error
	// LastUndo returns the undo of an action that can be taken back; the zero value without one, and the
	// action that was undone after it.
	LastUndo(ctx context.Context, action string) (undo rewards.Switch, after rewards.Action, err error)
	// Switches lists the switches of an action, oldest first.
	Switches(ctx context.Context, action string) ([]rewards.Switch, error)
	// OpenSwitch returns the switch whose sweep goes on.
	OpenSwitch(ctx context.Context) (rewards.Switch, bool, error)
	// Entitled reports whether an action's entitlement was recorded.
	Entitled(ctx context.Context, a rewards.Action) (bool, error)
	// ChangedSince reports whether a booked order of a stock was filled at the broker's time or later, or
	// shares of it were taken back since.
	ChangedSince(ctx context.Context, asset rewards.AssetID, from time.Time) (bool, error)
	// Sweep brings the next holdings of a switch up to date and reports whether all are.
	Sweep(ctx context.Context, l rewards.Lease, number int64) (done bool, err error)
	// SaveActivities stores the broker's activities that are new.
	SaveActivities(ctx context.Context, l rewards.Lease, list []rewards.Activity) error
	// ActivitiesOf lists the stored activities of stocks since a day, oldest first.
	ActivitiesOf(ctx context.Context, since rewards.Date, symbols ...string) ([]rewards.Activity, error)
	// PaymentsOf is ActivitiesOf, with the ids of all activities that paid for an action.
	PaymentsOf(ctx context.Context, since rewards.Date, symbols ...string) (
		list []rewards.Activity, spent map[string]bool, err error)
	// Entitlement returns who gets the cash of an action.
	Entitlement(ctx context.Context, a rewards.Action) (rewards.Entitlement, error)
	// UnpaidActions lists the actions whose cash the broker has not paid, or that is not paid out.
	UnpaidActions(ctx context.Context) ([]rewards.Action, error)
	// Payout returns the payout of an action, if the broker has paid.
	Payout(ctx context.Context, action string) (rewards.Payout, bool, error)
	// BeginPayout books the broker's payment.
	BeginPayout(ctx context.Context, l rewards.Lease, action string, p rewards.Payment) error
	// SharePayout computes the next users' parts and reports whether all are computed.
	SharePayout(ctx context.Context, l rewards.Lease, action string) (done bool, err error)
	// NextPayees lists the next users to pay, with their apps' policies.
	NextPayees(ctx context.Context, action string) ([]rewards.Effect, map[rewards.AppID]rewards.DividendPolicy, error)
	// SavePaid notes what the cash of a part became; an empty part ends the payout.
	SavePaid(ctx context.Context, l rewards.Lease, action string, part []rewards.Effect) error
	// RecordCashAwards records the awards that the cash of an action becomes.
	RecordCashAwards(ctx context.Context, l rewards.Lease, batch []rewards.NewReward) ([]rewards.Outcome, error)
	// Shortages lists the stocks whose shares the house owes.
	Shortages(ctx context.Context) ([]rewards.Shortage, error)
	// MarkShort stores since when the house owes shares, at the broker's time.
	MarkShort(ctx context.Context, l rewards.Lease, asset rewards.AssetID, since time.Time) error
	// CorrectOrder books what the broker corrected the fill of a settled order to.
	CorrectOrder(ctx context.Context, l rewards.Lease, o rewards.Order, b rewards.BrokerOrder, activity string) error
	// CorrectPosition books the broker's corrections of a position when they explain its difference.
	CorrectPosition(ctx context.Context, l rewards.Lease, b rewards.BookedPosition, difference money.Shares) (
		booked bool, err error)
	// Corrections lists the corrections of fills since a moment.
	Corrections(ctx context.Context, since time.Time) ([]rewards.Correction, error)
	// SaveDifferences stores by how much the broker's positions differ from those quantities.
	SaveDifferences(ctx context.Context, l rewards.Lease, differences map[rewards.AssetID]money.Shares) error
}
