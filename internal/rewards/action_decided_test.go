package rewards_test

import (
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// What an operator may decide in each state.
func TestDecisionsAboutActions(t *testing.T) {
	t.Parallel()
	early, due := stages(t)
	a := early.NewAction(fourToOne(), 7, true)
	for state, want := range map[rewards.ActionState]struct{ ignore, approve, undo bool }{
		rewards.ActionAnnounced: {true, true, false},
		rewards.ActionHeld:      {true, true, false},
		rewards.ActionIgnored:   {false, true, false},
		rewards.ActionWithdrawn: {false, true, false},
		rewards.ActionPassed:    {false, true, false},
		rewards.ActionApplied:   {false, false, false},
		rewards.ActionSwept:     {false, false, true},
		rewards.ActionUndone:    {false, true, false},
		rewards.ActionUndoing:   {false, false, false},
	} {
		a.State, a.HoldFrom, a.WaitsFor = state, time.Time{}, "order"
		ignored, ignoreErr := a.Ignore("checked", due.Now)
		approved, approveErr := a.Approve("checked", due.Now)
		undone, undoErr := a.Undo("checked")
		for _, c := range []struct {
			name  string
			may   bool
			err   error
			after rewards.ActionState
			want  rewards.ActionState
		}{
			{"ignore", want.ignore, ignoreErr, ignored.State, rewards.ActionIgnored},
			{"apply", want.approve, approveErr, approved.State, rewards.ActionAnnounced},
			{"undo", want.undo, undoErr, undone.State, rewards.ActionUndoing},
		} {
			switch {
			case c.may && (c.err != nil || c.after != c.want):
				t.Errorf("%s when %s: %s, %v", c.name, state, c.after, c.err)
			case !c.may && (rewards.CodeOf(c.err) != rewards.CodeConflict || c.after != state):
				t.Errorf("%s when %s: %s, %v; want a conflict", c.name, state, c.after, c.err)
			}
		}
		if want.approve && (!approved.HoldFrom.Equal(a.Boundary) || approved.ApprovedAt.IsZero() || approved.WaitsFor != "") {
			t.Errorf("approved when %s: %+v", state, approved)
		}
	}
	a.State, a.Type = rewards.ActionHeld, "unit_split"
	if _, err := a.Approve("checked", due.Now); rewards.CodeOf(err) != rewards.CodeConflict {
		t.Errorf("a type without a rule is applied: %v", err)
	}
}

// Terms that an operator enters are checked before anything is stored.
func TestEnteredActions(t *testing.T) {
	t.Parallel()
	split := fourToOne().Terms
	only := func(other rewards.Terms) func(*rewards.Terms) {
		return func(x *rewards.Terms) { *x, x.Symbol, x.ExDate = other, split.Symbol, split.ExDate }
	}
	for name, c := range map[string]struct {
		change func(*rewards.Terms)
		valid  bool
	}{
		"a split":                {func(*rewards.Terms) {}, true},
		"no day":                 {func(x *rewards.Terms) { x.ExDate = "2026-13-01" }, false},
		"no pay day":             {func(x *rewards.Terms) { x.PayDate = "soon" }, false},
		"no ratio":               {func(x *rewards.Terms) { x.NewRate = "" }, false},
		"reversed":               {func(x *rewards.Terms) { x.OldRate, x.NewRate = "4", "1" }, false},
		"beyond 1:1000":          {func(x *rewards.Terms) { x.NewRate = "1001" }, false},
		"the symbol again":       {func(x *rewards.Terms) { x.NewSymbol = x.Symbol }, false},
		"an unknown type":        {func(x *rewards.Terms) { x.Type = "unit_split" }, false},
		"a rename to nothing":    {func(x *rewards.Terms) { x.Type = rewards.ActionNameChange }, false},
		"a rename":               {only(rewards.Terms{Type: rewards.ActionNameChange, NewSymbol: "APL"}), true},
		"a spin-off of nothing":  {func(x *rewards.Terms) { x.Type = rewards.ActionSpinOff }, false},
		"a dividend of nothing":  {func(x *rewards.Terms) { x.Type = rewards.ActionCashDividend }, false},
		"a negative dividend":    {func(x *rewards.Terms) { x.Type, x.Rate = rewards.ActionCashDividend, "-1" }, false},
		"a dividend":             {only(rewards.Terms{Type: rewards.ActionCashDividend, Rate: "0.25"}), true},
		"a mixed merger's cash":  {func(x *rewards.Terms) { x.Type, x.NewSymbol = rewards.ActionMixedMerger, "KO" }, false},
		"a worthless stock":      {only(rewards.Terms{Type: rewards.ActionWorthless}), true},
		"a dividend to a stock":  {only(rewards.Terms{Type: rewards.ActionCashDividend, Rate: "0.25", NewSymbol: "KO"}), false},
		"a split that pays":      {func(x *rewards.Terms) { x.Rate = "7" }, false},
		"a split's pay date":     {func(x *rewards.Terms) { x.PayDate = "2026-12-09" }, false},
		"a removal with a ratio": {func(x *rewards.Terms) { x.Type = rewards.ActionWorthless }, false},
		"no new symbol":          {only(rewards.Terms{Type: rewards.ActionNameChange, NewSymbol: "KO WI"}), false},
		"an exponent":            {only(rewards.Terms{Type: rewards.ActionCashDividend, Rate: "1e2"}), false},
		"another century":        {func(x *rewards.Terms) { x.ExDate = "2127-12-03" }, false},
		"another epoch":          {func(x *rewards.Terms) { x.ExDate = "1825-01-01" }, false},
		"a stock dividend of -1": {func(x *rewards.Terms) { x.Type, x.Rate = rewards.ActionStockDividend, "-1" }, false},
	} {
		terms := split
		c.change(&terms)
		a, err := rewards.EnteredAction("entered", terms, moment(t, "2026-12-01T12:00:00Z"), "the broker's letter")
		if (err == nil) != c.valid {
			t.Errorf("%s: %v", name, err)
		}
		if c.valid && (a.Boundary != moment(t, "2026-12-02T20:00:00-05:00") || a.HoldFrom.IsZero() == terms.Type.Holds()) {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// A cash dividend changed no holding, and its cash is shared: there is nothing to undo.
func TestADividendIsNotUndone(t *testing.T) {
	t.Parallel()
	a := rewards.Action{Terms: rewards.Terms{Type: rewards.ActionCashDividend}, State: rewards.ActionSwept}
	if after, err := a.Undo("why"); rewards.CodeOf(err) != rewards.CodeConflict || after != a {
		t.Errorf("undone: %+v, %v", after, err)
	}
}

// What an operator decided to apply is not held again when the broker no longer lists it.
func TestAnApprovalOutlivesTheList(t *testing.T) {
	t.Parallel()
	early, late := stages(t)
	a, err := early.NewAction(fourToOne(), 7, true).Approve("the broker's statement", early.SeenAt)
	if err != nil {
		t.Fatal(err)
	}
	if got := late.Withdraw(a); got != a {
		t.Errorf("after it is due: %+v", got)
	}
	if got := early.Withdraw(a); got.State != rewards.ActionWithdrawn {
		t.Errorf("before it is due: %+v", got)
	}
}
