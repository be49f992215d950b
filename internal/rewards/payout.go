package rewards

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"stockrewards/internal/money"
)

// Entitlement is who gets the cash of an action, as a switch recorded it.
type Entitlement struct {
	Number   int64        // of the switch
	Shares   money.Shares // of all users
	Switches []DatedSwitch
}

// DatedSwitch is a switch of the stock, with the ex-date of its action.
type DatedSwitch struct {
	Switch
	ExDate Date
}

// recordedSoon is how near to its boundary a record of who is entitled must be to belong to it without saying so:
// boundaries are at least a day apart. When the clocks of the two differ by more, the record says it.
const recordedSoon = 12 * time.Hour

// EntitledBy reports whether a switch recorded who is entitled at the action's boundary, and not at that of another
// ex-date, as before the broker moved it.
func (a Action) EntitledBy(w Switch) bool {
	if !w.EntitledAt.IsZero() {
		return w.EntitledAt.Equal(a.Boundary)
	}
	return w.At.Sub(a.Boundary).Abs() < recordedSoon
}

// EntitledLate reports whether a record that is made now must say to which boundary it belongs, by Switch.EntitledAt:
// it is made late, or the broker's clock is far ahead of this machine's, as the paper brokerage's may be.
func (a Action) EntitledLate(now time.Time) bool { return now.Sub(a.Boundary).Abs() >= recordedSoon/2 }

// Count returns the payment with the counted shares in the units in which the shares of the users were recorded. The
// broker counts in those of the ex-date. A split that was applied early, late or between the two makes a difference.
// When the users had more than the broker counted, because the house owes shares, each gets less: otherwise the last
// ones would get nothing. It fails with money.ErrOverflow.
func (e Entitlement) Count(p Payment, exDate Date) (Payment, error) {
	if p.Counted == 0 { // all that was booked counts then
		for _, w := range e.Switches {
			if w.Number == e.Number {
				p.Counted = max(w.Booked, e.Shares)
			}
		}
		return p, nil
	}
	all := make([]Switch, len(e.Switches))
	recorded := 0 // how many switches were before the entitlement
	for i, w := range e.Switches {
		if all[i] = w.Switch; w.Number < e.Number {
			recorded = i + 1
		}
	}
	undone, undoneThen := undoneIn(all), undoneIn(all[:recorded])
	for i, w := range e.Switches {
		if w.Undoes != 0 || w.Keep.New == 0 {
			continue
		}
		inRecord, atExDate := i < recorded && !undoneThen[w.Number], w.ExDate < exDate && !undone[w.Number]
		var err error
		switch {
		case inRecord && !atExDate:
			p.Counted, err = w.Keep.Of(p.Counted)
		case atExDate && !inRecord:
			p.Counted, err = w.Keep.Inverse().Of(p.Counted)
		}
		if err != nil {
			return p, err
		}
	}
	p.Counted = max(p.Counted, e.Shares)
	return p, nil
}

// DividendPolicy says what becomes of the cash that the users of an app get.
type DividendPolicy int

// The policies.
const (
	DividendsReinvest DividendPolicy = iota + 1 // an award of the same stock
	DividendsHouse                              // the house keeps it
)

// String returns the policy as commands name it.
func (p DividendPolicy) String() string {
	if p == DividendsHouse {
		return "house"
	}
	return "reinvest"
}

// State returns the policy for the operator log.
func (p DividendPolicy) State() State { return State{{"dividends", p.String()}} }

// PolicyChange is a change of the policy of an app.
type PolicyChange struct {
	At     time.Time
	Before DividendPolicy
}

// DividendPolicies are the policies of the apps, with their changes, oldest first.
type DividendPolicies struct {
	Now     map[AppID]DividendPolicy
	Changes map[AppID][]PolicyChange
}

// For returns the policy of an app for a payment that was booked at a time. A later change does not concern it: all
// users of an app are treated alike, however long it takes to pay them out.
func (p DividendPolicies) For(app AppID, booked time.Time) DividendPolicy {
	for _, c := range p.Changes[app] {
		if c.At.After(booked) {
			return c.Before
		}
	}
	return p.Now[app]
}

// Payout is a payment that is shared among the users whom a switch recorded. The house keeps what
// is left.
type Payout struct {
	Payment
	ActionID string
	Switch   int64 // number
	Shared   money.USD
	At       time.Time
	SharedAt time.Time // when every part was computed; zero: not yet
	PaidAt   time.Time // when every part was paid out; zero: not yet
}

// Awardable reports whether the cash may become an award: there is some, and not more than an award may have.
func (e Effect) Awardable() bool { return e.Cash > 0 && e.Cash <= MaxAmountDollars*money.Dollar }

// CashKeys is how many idempotency keys an award of cash may have, in case that its client has used some.
const CashKeys = 101

// CashAward returns the award that a user's cash becomes: of the action's stock, or of the acquirer's after a merger,
// or of no stock (0) when it stays cash. attempt is from 1 to CashKeys; the key of a later one has its number. The last
// one has what a client cannot know, so that none can use all keys: the broker's id of the payment. It has the
// announced symbol, so that a repetition after a rename is the same request.
func (a Action) CashAward(e Effect, stock AssetID, attempt int, activityID string) NewReward {
	source, symbol := "dividend", a.Symbol
	if a.Type != ActionCashDividend {
		source, symbol = "merger", a.NewSymbol
	}
	key := source + ":" + a.ID + ":" + e.UserID.String()
	switch {
	case attempt == CashKeys:
		hash := sha256.Sum256([]byte(activityID + " " + key))
		key += ":" + hex.EncodeToString(hash[:16])
	case attempt > 1:
		key += ":" + strconv.Itoa(attempt)
	}
	metadata := `{"corporateActionId":` + strconv.Quote(a.ID) + `}`
	r := NewReward{
		AppID: e.AppID, UserID: e.UserID, IdempotencyKey: key, Amount: e.Cash, Symbol: symbol, Source: source,
		Metadata: metadata, Canonical: metadata, AssetID: stock, Uncounted: true,
	}
	r.Fingerprint = NewFingerprint(r, metadata)
	return r
}
