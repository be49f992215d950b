package rewards

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The objects of the operator log that have no id.
const (
	ObjectOrdering = "ordering" // whether ordering is paused
	ObjectBooks    = "books"    // the whole store
	ObjectCatalog  = "catalog"

	fieldHash = "hash"
)

// Object returns the app's name in the operator log.
func (a App) Object() string { return "app " + a.ID.String() }

// State returns the app for the operator log.
func (a App) State() State {
	return State{
		{"name", a.Name},
		{"suspended", YesNo(a.Suspended)},
		{"requestsPerSecond", limit(a.Limits.RequestsPerSecond)},
		{"concurrent", limit(a.Limits.Concurrent)},
	}
}

// limit returns a limit as states store it; "" for the default.
func limit(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// Object returns the user's name in the operator log.
func (u User) Object() string { return "user " + u.ID.String() }

// State returns the user for the operator log, without the email and the external id: the log
// keeps nothing of a person who was erased.
func (u User) State() State {
	return State{{"app", u.AppID.String()}, {"erased", YesNo(u.Erased())}}
}

// Object returns the key's name in the operator log.
func (k Key) Object() string { return "key " + k.ID.String() }

// State returns the key for the operator log. The hash proves later that the stored key was
// not replaced; the key itself is not in it.
func (k Key) State() State {
	return State{
		{"app", k.AppID.String()},
		{"label", k.Label},
		{fieldHash, hex.EncodeToString(k.Hash[:])},
		{"expires", moment(k.ExpiresAt)},
		{"revoked", moment(k.RevokedAt)},
	}
}

// Object returns the asset's name in the operator log. It has the id, because a symbol may
// change.
func (a Asset) Object() string { return fmt.Sprint("asset ", int64(a.ID)) }

// State returns the asset for the operator log.
func (a Asset) State() State {
	return State{{"symbol", a.Symbol}, {"enabled", YesNo(a.Enabled)}}
}

// Object returns the order's name in the operator log.
func (o Order) Object() string { return "order " + o.ID.String() }

// PausedState returns the state of ObjectOrdering: the reason for the pause, or "".
func PausedState(reason string) State { return State{{"paused", reason}} }

// moment returns a time as states store it; "" for the zero time.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
}

// MovedState returns the state of ObjectBooks: where the store was copied to, without
// credentials; "" while this store is the current one.
func MovedState(to string) State { return State{{"movedTo", to}} }

// DoubtEnded returns the change when an operator accepts or rejects the price in doubt.
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

// ConflictAcknowledged returns the change when an operator acknowledges a broker conflict.
func ConflictAcknowledged(clientOrderID string) Change {
	return Change{Object: "conflict " + clientOrderID, After: State{{"acknowledged", YesNo(true)}}}
}

// Decision returns the order for the operator log.
func (o Order) Decision() State {
	return State{
		{"state", o.State.String()},
		{"clientOrderId", o.ClientOrderID},
		{"notional", o.Notional.String()},
		{"filled", o.FilledQty.String()},
		{"price", o.FilledAvgPrice.String()},
	}
}

// State returns the sync's changes for the operator log. Long lists of symbols are cut.
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

// someOf lists the first names and counts the others.
func someOf(names []string) string {
	const most = 200
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
