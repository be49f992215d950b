package rewards

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"stockrewards/internal/money"
)

// enteredWithin is how many days an ex-date may be from today: another one is a mistake.
const enteredWithin = 100 * 366

// CheckNewSymbol fails with ErrTerms when the new symbol cannot be that of a stock: portfolios and the journal have it.
func (t Terms) CheckNewSymbol() error {
	if t.NewSymbol == "" || wellFormedSymbol(t.NewSymbol) {
		return nil
	}
	return fmt.Errorf("%w: the new symbol %q: must be 1 to 16 upper-case letters, digits, dots, dashes or slashes",
		ErrTerms, t.NewSymbol)
}

// rateFlags names the flags of the rates that an operator enters for a type.
func (t ActionType) rateFlags() string {
	if t == ActionStockDividend {
		return "--rate"
	}
	return "--old-rate, --new-rate"
}

// checkUnused fails when the terms have something that their type does not use, or a rate that is no plain number.
func (t Terms) checkUnused() error {
	ratio := t.Type == ActionForwardSplit || t.Type == ActionReverseSplit || t.Type.Gives()
	for _, m := range []struct {
		name, value string
		used        bool
	}{
		{"--new-symbol", t.NewSymbol, t.Type.Gives() || t.Renames()},
		{"--old-rate", t.OldRate, ratio},
		{"--new-rate", t.NewRate, ratio},
		{"--rate", t.Rate, t.Type.Pays() || t.Type == ActionStockDividend},
		{"--pay-date", string(t.PayDate), t.Type.Pays()},
	} {
		switch {
		case m.value != "" && !m.used:
			return fmt.Errorf("a %s has no %s", t.Type, m.name)
		case strings.HasSuffix(m.name, "rate") && strings.ContainsAny(m.value, "eE"):
			return fmt.Errorf("%s %q: must be a number such as 0.25", m.name, m.value)
		}
	}
	return nil
}

// EnteredAction returns an action that an operator enters, as of the broker's time now. It fails
// when the terms have no rule, lack what their type needs, or have what it does not use: that would
// be shown, or taken for something else. The error names the flags of the operator's command.
func EnteredAction(id string, t Terms, now time.Time, reason string) (Action, error) {
	a := Action{
		Terms: t, ID: id, ProcessDate: t.ExDate, State: ActionAnnounced, FirstSeen: now,
		Reason: reason, Note: "entered by an operator: " + reason,
	}
	switch {
	case !t.ExDate.Valid():
		return a, fmt.Errorf("--ex-date %q: must be a day such as 2026-12-01", t.ExDate)
	case t.PayDate != "" && !t.PayDate.Valid():
		return a, fmt.Errorf("--pay-date %q: must be a day such as 2026-12-01", t.PayDate)
	case (t.Type.Gives() || t.Type == ActionNameChange) && t.NewSymbol == "":
		return a, errors.New("--new-symbol is missing")
	case t.NewSymbol == t.Symbol:
		return a, errors.New("--new-symbol: must not be the old symbol")
	case t.ExDate < DateOf(now).Plus(-enteredWithin) || t.ExDate > DateOf(now).Plus(enteredWithin):
		return a, fmt.Errorf("--ex-date %q: must be within a hundred years", t.ExDate)
	}
	if err := t.CheckNewSymbol(); err != nil {
		return a, fmt.Errorf("--new-symbol: %w", err)
	}
	if err := t.checkUnused(); err != nil {
		return a, err
	}
	if t.Type == ActionCashDividend || t.Type == ActionCashMerger || t.Type == ActionMixedMerger {
		if rate, err := money.ParsePrice(t.Rate); err != nil || rate <= 0 {
			return a, fmt.Errorf("--rate %q: must be dollars for a share", t.Rate)
		}
	}
	if _, err := t.Conversion(1, Whole()); err != nil {
		return a, fmt.Errorf("%s: %w", t.Type.rateFlags(), err)
	}
	a.Boundary = t.ExDate.previousWeekday().evening()
	if t.Type.Holds() {
		a.HoldFrom = a.Boundary
	}
	return a, nil
}
