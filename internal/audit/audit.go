package audit

import (
	"context"
	"errors"
)

// Report is what an audit found.
type Report struct {
	Checks []CheckResult `json:"checks"`
}

// CheckResult is the outcome of one check.
type CheckResult struct {
	Name       string      `json:"name"`       // stable
	Invariants []int       `json:"invariants"` // their numbers in the list, if any
	Rule       string      `json:"rule"`       // what must hold
	Unit       string      `json:"unit"`       // what Rows counts
	Next       string      `json:"next"`       // what to do when it does not hold
	Rows       int64       `json:"rows"`       // how many were looked at
	Violated   int64       `json:"violated"`   // how many violate it
	Violations []Violation `json:"violations"` // the first of these
}

// Violation is one row that breaks a rule.
type Violation struct {
	Row      string `json:"row"`
	Found    string `json:"found"`
	Expected string `json:"expected"`
}

// MaxViolations is how many violations of a check are kept; all are counted.
const MaxViolations = 100

// OK tells whether everything holds.
func (r Report) OK() bool {
	failed, _ := r.Violated()
	return failed == 0
}

// Violated counts the checks that do not hold and the violations of all.
func (r Report) Violated() (checks int, violations int64) {
	for _, c := range r.Checks {
		if c.Violated > 0 {
			checks++
		}
		violations += c.Violated
	}
	return checks, violations
}

// Options says how an audit runs. The zero value is good.
type Options struct {
	// Progress is told what is being read and how many rows of it were, at the start of
	// each reading and now and then. It is called by the goroutine that audits.
	Progress func(what string, rows int64)
	// SortBytes is how much of what is sorted stays in memory, of each of at most three
	// things at a time; what is more goes to temporary files. Zero: 16 MiB.
	SortBytes int
}

func (o Options) sortBytes() int {
	if o.SortBytes > 0 {
		return o.SortBytes
	}
	return runBytes
}

// Run checks every invariant on the snapshot that q reads. It fails only when the
// books cannot be read or ctx ends; violations are in the report. The report of an
// audit that failed has what was found until then.
func Run(ctx context.Context, q Queryer, o Options) (Report, error) {
	a := &auditor{
		ctx: ctx, q: q, options: o, t: newTally(), apps: make(map[string]bool), assets: make(map[int64]bool),
		positions: make(map[int64]*position), days: make(map[int64]*dayTotal),
	}
	a.keys, a.lots = a.newSorter(), a.newSorter()
	err := a.run(ctx)
	for _, s := range a.sorters {
		err = errors.Join(err, s.close())
	}
	return Report{Checks: a.t.results}, err
}

// auditor is one run, with what must be known across its passes. Its maps are as
// large as the apps, the assets and the days.
type auditor struct {
	ctx       context.Context //nolint:containedctx // of this one run
	q         Queryer
	options   Options
	reading   []Rows // of the pass under way
	sorters   []*sorter
	keys      *sorter // the idempotency keys of the rewards by app
	lots      *sorter // what the rewards brought, by user
	t         *tally
	apps      map[string]bool
	assets    map[int64]bool
	positions map[int64]*position // by asset
	decided   decided             // by operators, as their log says
	days      map[int64]*dayTotal // by the microseconds of the day's start
}

// run makes the passes one after the other.
func (a *auditor) run(ctx context.Context) error {
	for _, pass := range []func(context.Context) error{
		a.installation, a.rewards, a.orders, a.users, a.uniqueTexts, a.totals,
	} {
		if err := errors.Join(pass(ctx), a.closeAll()); err != nil {
			return err
		}
	}
	return nil
}

// tell tells how far the audit is, and whether it is to end.
func (a *auditor) tell(what string, rows int64) error {
	if a.options.Progress != nil {
		a.options.Progress(what, rows)
	}
	return context.Cause(a.ctx)
}

// position is what should be there of one asset, and what is.
type position struct{ filled, held, house wide }

func (a *auditor) position(asset int64) *position {
	p := a.positions[asset]
	if p == nil {
		p = new(position)
		a.positions[asset] = p
	}
	return p
}

// tally counts rows and violations.
type tally struct{ results []CheckResult }

func newTally() *tally {
	t := &tally{results: make([]CheckResult, checkCount)}
	for _, d := range definitions() {
		t.results[d.check] = CheckResult{
			Name: d.name, Invariants: d.invariants, Rule: d.rule, Unit: d.unit, Next: nextStep(d.check),
			Violations: []Violation{},
		}
	}
	return t
}

// row counts a row that a check looked at.
func (t *tally) row(c check) { t.results[c].Rows++ }

// fail counts a violation and keeps the first ones.
func (t *tally) fail(c check, row, found, expected string) {
	r := &t.results[c]
	r.Violated++
	if len(r.Violations) < MaxViolations {
		r.Violations = append(r.Violations, Violation{Row: row, Found: found, Expected: expected})
	}
}

// named is a row, or a group of rows, that can be told in a violation.
type named interface{ name() string }

// rule ties a check to the test of one row: what was found and what was expected
// instead; expected is "" when it holds.
type rule[V named] struct {
	check check
	test  func(V) (found, expected string)
}

// apply tests one row by every rule.
func apply[V named](t *tally, rules []rule[V], row V) {
	for _, r := range rules {
		t.row(r.check)
		if found, expected := r.test(row); expected != "" {
			t.fail(r.check, row.name(), found, expected)
		}
	}
}

// must is one condition of several that a row must meet.
type must struct {
	holds    bool
	expected string
}

// first is the first condition that does not hold; "" when all do.
func first(conditions ...must) string {
	for _, c := range conditions {
		if !c.holds {
			return c.expected
		}
	}
	return ""
}

// judge describes the row when a condition does not hold.
func judge(describe func() string, conditions ...must) (found, expected string) {
	if expected = first(conditions...); expected != "" {
		found = describe()
	}
	return found, expected
}
