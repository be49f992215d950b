package rewards

import (
	"context"
	"math/big"
	"strings"
	"time"

	"stockrewards/internal/money"
)

// ActionFilter selects corporate actions of a list. The zero value selects all.
type ActionFilter struct {
	Symbol string        // of the action's stock or of the stock that results; "": any
	States []ActionState // of StatesShown; empty: any
}

// StatesShown returns the states that clients see as a status, or false if there is no such status.
func StatesShown(status string) (states []ActionState, known bool) {
	for s := ActionAnnounced; int(s) <= len(actionStates()); s++ {
		if s != ActionPassed && s.Shown() == status {
			states = append(states, s)
		}
	}
	return states, len(states) > 0
}

// ActionPage selects a page of a list of actions, newest first.
type ActionPage struct {
	Before ActionPlace // only older entries; zero: from the newest
	Limit  int
}

// ActionPlace is an action's place in a list.
type ActionPlace struct {
	FirstSeen time.Time
	ID        string
}

// ActionEffect is an Effect as clients see it.
type ActionEffect struct {
	Effect

	Symbol string // of the stock, now
	Shared bool   // the broker paid for the holding, and Cash is the user's share
}

// EffectPage selects a page of the effects of an action, by user and stock.
type EffectPage struct {
	After EffectPlace // only later entries; zero: from the first
	Limit int
}

// EffectPlace is an effect's place in a list.
type EffectPlace struct {
	User  UserID
	Asset AssetID
}

// HasEffects reports whether an action in this state has changed holdings, or had before it was undone.
func (s ActionState) HasEffects() bool {
	return s == ActionApplied || s == ActionSwept || s == ActionUndoing || s == ActionUndone
}

// ShownRates are the rates of an action as clients see them: JSON numbers that keep every digit; ""
// where the type has no such rate, or where the broker's rate cannot be read.
type ShownRates struct{ Old, New, Cash string }

// Shown returns the rates as clients see them (additions, section 7).
func (t Terms) Shown() (r ShownRates) {
	switch {
	case t.Type == ActionStockDividend:
		r.Old, r.New = "1", increased(plainRate(t.Rate))
	case t.Type == ActionForwardSplit || t.Type == ActionReverseSplit || t.Type.Gives():
		r.Old, r.New = plainRate(t.OldRate), plainRate(t.NewRate)
	}
	if t.Type.Pays() {
		r.Cash = plainRate(t.Rate)
	}
	return r
}

// maxRateDigits bounds the length of a rate that clients see.
const maxRateDigits = 60

// plainRate returns a rate without exponent and trailing zeros; "" if it is not a positive number.
func plainRate(written string) string {
	d, err := money.ParseDecimal(written)
	if err != nil || d.Sign() <= 0 || d.Size() > maxRateDigits {
		return ""
	}
	return string(d.Append(nil))
}

// increased returns 1 + rate.
func increased(rate string) string {
	whole, fraction, hasPoint := strings.Cut(rate, ".")
	n, ok := new(big.Int).SetString(whole, 10)
	if !ok {
		return ""
	}
	sum := n.Add(n, big.NewInt(1)).String()
	if hasPoint {
		sum += "." + fraction
	}
	return sum
}

// ShownAt returns when the action was applied, as clients see it; the zero time if it is not.
func (a Action) ShownAt() time.Time {
	if !a.State.HasEffects() {
		return time.Time{}
	}
	return a.AppliedAt
}

// ShownNote returns the note as clients see it. It leaves out positions, which are the sum of all
// apps.
func (a Action) ShownNote() string {
	if strings.HasPrefix(a.Note, notePosition) {
		return notePosition
	}
	return a.Note
}

// Actions lists the corporate actions of stocks that users of the app hold or held, newest first
// (additions, section 7).
func (s *Service) Actions(ctx context.Context, app AppID, f ActionFilter, p ActionPage) ([]Action, error) {
	return s.store.ActionsOfApp(ctx, app, f, p)
}

// Action returns a corporate action of a stock that users of the app hold or held, or fails with
// CodeNotFound (additions, section 7).
func (s *Service) Action(ctx context.Context, app AppID, id string) (Action, error) {
	return s.store.ActionOfApp(ctx, app, id)
}

// Effects lists what a corporate action did to the holdings of the app's users, as Store.Effects
// (additions, section 7).
func (s *Service) Effects(ctx context.Context, app AppID, id string, p EffectPage) ([]ActionEffect, error) {
	return s.store.Effects(ctx, app, id, p)
}
