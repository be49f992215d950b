package audit

import (
	"context"
	"errors"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// Report is the result of an audit.
type Report struct {
	Checks []CheckResult `json:"checks"`
}

// CheckResult is the result of one check.
type CheckResult struct {
	Name       string      `json:"name"`       // stable
	Invariants []int       `json:"invariants"` // see the package comment
	Rule       string      `json:"rule"`       // what must hold
	Unit       string      `json:"unit"`       // of Rows
	Next       string      `json:"next"`       // what to do about a violation
	Rows       int64       `json:"rows"`       // checked
	Violated   int64       `json:"violated"`   // of Rows
	Violations []Violation `json:"violations"` // the first MaxViolations
}

// Violation is a row that breaks a rule.
type Violation struct {
	Row      string `json:"row"`
	Found    string `json:"found"`
	Expected string `json:"expected"`
}

// MaxViolations is the number of violations of a check that a report keeps.
const MaxViolations = 100

// OK reports whether all checks hold.
func (r Report) OK() bool {
	failed, _ := r.Violated()
	return failed == 0
}

// Violated counts the failed checks and all violations.
func (r Report) Violated() (checks int, violations int64) {
	for _, c := range r.Checks {
		if c.Violated > 0 {
			checks++
		}
		violations += c.Violated
	}
	return checks, violations
}

// OnlyFilters reports whether nothing is wrong but that filters of keys are damaged, which serve makes again.
func (r Report) OnlyFilters() bool {
	damaged := 0
	for _, c := range r.Checks {
		for _, v := range c.Violations {
			if v.Expected == soundFilter {
				damaged++
			}
		}
	}
	_, violations := r.Violated()
	return damaged > 0 && int64(damaged) == violations
}

// Options configures an audit. The zero value is valid.
type Options = reader.Options

// Run checks every invariant on the snapshot of q. Violations are no error: Run fails only when
// the store cannot be read or ctx ends. The report then has what was found until then.
func Run(ctx context.Context, q reader.Queryer, o Options) (Report, error) {
	a := &auditor{
		r: reader.New(ctx, q, o), t: newTally(), apps: make(map[string]bool), assets: make(map[int64]bool),
		generations: make(map[int64]int64), switches: make(map[int64]*unitSwitch),
		ofAsset: make(map[int64][]*unitSwitch), lastOf: make(map[string]*unitSwitch), actions: make(map[string]*action),
		exposed: make(map[appAsset]bool), stops: make(map[int64][]*action),
		positions: make(map[int64]*position), days: make(map[int64]*dayTotal),
		inSegments: q.InSegments(),
		decided:    decided{fields: make(map[string]map[string]string), seen: make(map[string]bool)},
	}
	a.keys, a.lots, a.activity, a.cashAwards = a.r.NewSorter(), a.r.NewSorter(), a.r.NewSorter(), a.r.NewSorter()
	a.symbols = symbols{of: make(map[int64]string), became: make(map[string]string), unclear: make(map[int64]bool)}
	a.budgets = budgets{
		of: make(map[string][]*budget), sums: make(map[counter]int64), users: a.r.NewSorter(),
	}
	err := errors.Join(a.run(), a.r.Close())
	return Report{Checks: a.t.results}, err
}

// auditor is one audit, with what its passes share. Its maps grow with the apps, the assets
// and the days.
type auditor struct {
	r          *reader.Reader
	keys       *reader.Sorter // the rewards' idempotency keys, by app
	lots       *reader.Sorter // what the rewards bought, by user
	activity   *reader.Sorter // the lots that must be stored
	cashAwards *reader.Sorter // what the service awarded of a corporate action's cash
	log        eventLog
	t          *tally
	inSegments bool
	arrivals   arrivals
	apps       map[string]bool
	assets     map[int64]bool
	positions  map[int64]*position // by asset
	symbols    symbols
	decided    decided             // what the operator log says
	days       map[int64]*dayTotal // by the microseconds of the day's start
	budgets    budgets

	generations map[int64]int64         // by asset
	switches    map[int64]*unitSwitch   // by number
	ofAsset     map[int64][]*unitSwitch // by asset, oldest first
	lastOf      map[string]*unitSwitch  // the newest one by action
	sweep       *unitSwitch             // the one whose sweep goes on; nil: none
	actions     map[string]*action      // by id
	stops       map[int64][]*action     // by asset: applied actions that held it
	exposed     map[appAsset]bool       // of the holdings
}

// run makes the passes in order.
func (a *auditor) run() error {
	for _, pass := range []func() error{
		a.installation, a.rewards, a.activityLots, a.readEvents, a.orders, a.users, a.unique, a.reversalKeys, a.totals,
		a.events, a.budgetUse, a.webhooks,
	} {
		if err := errors.Join(pass(), a.r.Done()); err != nil {
			return err
		}
	}
	return nil
}

// position is the shares of an asset: filled by orders, changed by switches and corrections, held
// by users, and of the house.
type position struct {
	filled, moved, corrected value.Sum
	held                     value.Sum
	ordered, residues        value.Sum // the house's, by orders and by switches
	taken                    value.Sum // by the house, from users
	pending                  value.Sum // what the open switch will leave to the house
	house                    value.Sum // as stored
}

func (a *auditor) position(asset int64) *position { return entryOf(a.positions, asset) }

// entryOf returns the entry of a key and creates it if it is missing.
func entryOf[V any](entries map[int64]*V, key int64) *V {
	if entries[key] == nil {
		entries[key] = new(V)
	}
	return entries[key]
}

// tally counts rows and violations by check.
type tally struct{ results []CheckResult }

func newTally() *tally {
	t := &tally{results: make([]CheckResult, checkCount)}
	for _, d := range definitions() {
		t.results[d.check] = d.result
	}
	return t
}

// row counts a row that a check covers.
func (t *tally) row(c check) { t.results[c].Rows++ }

// fail counts a violation.
func (t *tally) fail(c check, row, found, expected string) {
	r := &t.results[c]
	r.Violated++
	if len(r.Violations) < MaxViolations {
		r.Violations = append(r.Violations, Violation{Row: row, Found: found, Expected: expected})
	}
}

// named is a row, or a group of rows, with a name for violations.
type named interface{ name() string }

// label is a name.
type label string

func (l label) name() string { return string(l) }

// rule is a check's test of one row. It returns what was found and what was expected instead;
// expected is "" when the rule holds.
type rule[V named] struct {
	check check
	test  func(V) (found, expected string)
}

// apply tests a row by all rules.
func apply[V named](t *tally, rules []rule[V], row V) {
	for _, r := range rules {
		t.row(r.check)
		if found, expected := r.test(row); expected != "" {
			t.fail(r.check, row.name(), found, expected)
		}
	}
}

// must is a condition of a rule.
type must struct {
	holds    bool
	expected string
}

// judge returns the first condition that does not hold, with the row's description.
func judge(describe func() string, conditions ...must) (found, expected string) {
	for _, c := range conditions {
		if !c.holds {
			return describe(), c.expected
		}
	}
	return "", ""
}
