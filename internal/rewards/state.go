package rewards

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The objects of deeds, as the operator log names them.
const (
	ObjectOrdering = "ordering" // whether stock is ordered
	ObjectBooks    = "books"    // all of them
	ObjectCatalog  = "catalog"

	fieldHash = "hash"
)

// Object is the app as the operator log names it.
func (a App) Object() string { return "app " + a.ID.String() }

// State is what an operator decides about an app.
func (a App) State() State {
	return State{
		{"name", a.Name},
		{"suspended", YesNo(a.Suspended)},
		{"requestsPerSecond", limit(a.Limits.RequestsPerSecond)},
		{"concurrent", limit(a.Limits.Concurrent)},
	}
}

// limit is a limit as a state has it; "" when it is the default.
func limit(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// Object is the key as the operator log names it, by its id.
func (k Key) Object() string { return "key " + k.ID.String() }

// State is what an operator decides about a key. The key itself isn't in it; the hash
// proves that it is still the one that was made.
func (k Key) State() State {
	return State{
		{"app", k.AppID.String()},
		{"label", k.Label},
		{fieldHash, hex.EncodeToString(k.Hash[:])},
		{"expires", moment(k.ExpiresAt)},
		{"revoked", moment(k.RevokedAt)},
	}
}

// Object is the asset as the operator log names it: by its number, as a symbol may change.
func (a Asset) Object() string { return fmt.Sprint("asset ", int64(a.ID)) }

// State is what an operator decides about an asset.
func (a Asset) State() State {
	return State{{"symbol", a.Symbol}, {"enabled", YesNo(a.Enabled)}}
}

// Object is the order as the operator log names it.
func (o Order) Object() string { return "order " + o.ID.String() }

// ConflictObject is an order at the broker that the books contradict, as the operator
// log names it.
func ConflictObject(clientOrderID string) string { return "conflict " + clientOrderID }

// PausedState is whether ordering is paused: by its reason; "" when it isn't.
func PausedState(reason string) State { return State{{"paused", reason}} }

// moment is a time as a state has it; "" for the zero time.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
}

// MovedState is where the books were moved to, without credentials; "" when they live here.
func MovedState(to string) State { return State{{"movedTo", to}} }

// DoubtEnded is the change when an operator accepts or rejects the asset's price in doubt.
func (a Asset) DoubtEnded(accepted bool) Change {
	verdict := "rejected"
	if accepted {
		verdict = "accepted"
	}
	price := a.Doubt.Price.String()
	return Change{
		Object: a.Object(), Before: State{{"symbol", a.Symbol}, {"doubt", price}},
		After: State{{"symbol", a.Symbol}, {"doubt", ""}, {verdict, price}},
	}
}

// ConflictAcknowledged is the change when an operator accepts an order at the broker
// that the books contradict.
func ConflictAcknowledged(clientOrderID string) Change {
	return Change{Object: ConflictObject(clientOrderID), After: State{{"acknowledged", YesNo(true)}}}
}

// Decision is what an operator decides about an order.
func (o Order) Decision() State {
	return State{
		{"state", o.State.String()},
		{"clientOrderId", o.ClientOrderID},
		{"notional", o.Notional.String()},
		{"filled", o.FilledQty.String()},
		{"price", o.FilledAvgPrice.String()},
	}
}

// State is what a sync changed in the catalog: symbols, as many as fit.
func (s AssetSync) State() State {
	var added, renamed, disabled, returned []string
	for _, c := range s.Changes {
		switch {
		case c.Added():
			added = append(added, c.After.Symbol)
		case c.Renamed():
			renamed = append(renamed, c.Before.Symbol+" to "+c.After.Symbol)
		}
		if c.Disabled() {
			disabled = append(disabled, c.After.Symbol)
		}
		if c.Returned() {
			returned = append(returned, c.After.Symbol)
		}
	}
	return State{
		{"changes", strconv.Itoa(len(s.Changes))},
		{"added", someOf(added)},
		{"renamed", someOf(renamed)},
		{"disabled", someOf(disabled)},
		{"returned", someOf(returned)},
	}
}

// someOf lists the first names, and how many more there are.
func someOf(names []string) string {
	const most = 200
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
