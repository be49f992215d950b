package audit

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"time"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// The stored values of a budget.
const (
	budgetPerUser = 2
	budgetDay     = 1
	budgetMonth   = 2
)

// The stored states of a budget.
const (
	budgetCounting = iota + 1
	budgetActive
	budgetRemoved
)

// budget is a row of budgets.
type budget struct {
	id                        int64
	app, name                 string
	per, period, limit, state int64
	since, reached, cut       string // ids of rewards
}

func (b *budget) row() string { return "budget " + value.Int(b.id) + " of app " + value.UUID(b.app) }

// has reports whether the budget's counters have the reward of an id.
func (b *budget) has(id string) bool { return id >= b.since && (id <= b.reached || id > b.cut) }

// start is when the period began that has a reward's id, in microseconds; 0 for a total.
func (b *budget) start(id string) int64 {
	const idTime = 6 // the first bytes are milliseconds
	if len(id) < value.IDBytes {
		return 0
	}
	at := time.UnixMilli(int64(binary.BigEndian.Uint64([]byte("\x00\x00" + id[:idTime])))).UTC()
	switch b.period {
	case budgetDay:
		return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC).UnixMicro()
	case budgetMonth:
		return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	}
	return 0
}

// counter is a sum of a budget: part of what was computed, or the stored one.
type counter struct {
	budget, start int64
	user          string // "" for a budget per app
	stored        int64  // 1: it is the stored one
	used          int64
}

func (c *counter) key() counter { return counter{budget: c.budget, start: c.start, user: c.user} }

func (c *counter) row() string {
	s := "counter of budget " + value.Int(c.budget) + " from " + value.Time(c.start)
	if c.user != "" {
		s += " of user " + value.UUID(c.user)
	}
	return s
}

func (c *counter) columns() []any { return []any{&c.budget, &c.start, &c.user, &c.stored, &c.used} }

// budgets are the budgets that rewards count in, with what the rewards add up to. The sums of
// budgets per app are in memory, one for each period.
type budgets struct {
	of    map[string][]*budget // by app
	sums  map[counter]int64
	users *reader.Sorter // counters of budgets per user
}

// readBudgets reads the budgets and compares them with the operator log. While the past of a budget
// is being counted, its row is the newer one of two with the name.
func (a *auditor) readBudgets() error {
	newest := make(map[string]*budget)
	err := reader.Each(a.r, reader.Stream[budget]{
		What:  "budgets",
		Query: `SELECT id, app_id, name, per, period, allowed, state, since, reached, cut FROM budgets ORDER BY id`,
		Bind: func(b *budget) []any {
			return []any{
				&b.id, &b.app, &b.name, &b.per, &b.period, &b.limit, &b.state, &b.since, &b.reached, &b.cut,
			}
		},
	}, func(b *budget) {
		a.checkTenant(b.app, label(b.row()))
		if b.state == budgetRemoved {
			return
		}
		a.t.row(checkBudgets)
		if b.state != budgetCounting && b.state != budgetActive {
			a.t.fail(checkBudgets, b.row(), "state "+value.Int(b.state), "from 1 to 3")
		}
		kept := *b
		a.budgets.of[b.app] = append(a.budgets.of[b.app], &kept)
		newest["budget "+value.UUID(b.app)+" "+b.name] = &kept
	})
	for object, b := range newest {
		per, period := map[int64]string{1: "app", 2: "user"}, map[int64]string{1: "day", 2: "month", 3: "total"}
		a.checkDecided(object, nil, decidedField{"per", per[b.per]}, decidedField{"period", period[b.period]},
			decidedField{"limit", strings.TrimPrefix(value.USD(b.limit), "$")}, decidedField{"removed", "no"},
			decidedField{"counted", a.decided.counted(object, b.state)})
	}
	return err
}

// countInBudgets adds a reward to the budgets of its app.
func (a *auditor) countInBudgets(r *reward) error {
	var errs []error
	if r.counted == 0 {
		a.t.row(checkBudgets)
		if !strings.HasPrefix(r.key, r.source+":") || !slices.Contains([]string{"dividend", "merger"}, r.source) {
			a.t.fail(checkBudgets, r.name(), "a reward of a client that counts for no budget", "one that counts")
			return nil
		}
		return a.addCashAward(r)
	}
	for _, b := range a.budgets.of[r.app] {
		if r.status == failed || !b.has(r.id) {
			continue
		}
		c := counter{budget: b.id, start: b.start(r.id)}
		if b.per != budgetPerUser {
			a.budgets.sums[c] += r.amount
			continue
		}
		c.user, c.used = r.user, r.amount
		errs = append(errs, a.budgets.users.Add(c.columns()))
	}
	return errors.Join(errs...)
}

// budgetUse compares the counters with the sums of the rewards.
func (a *auditor) budgetUse() error {
	for c, sum := range a.budgets.sums {
		c.used = sum
		if err := a.budgets.users.Add(c.columns()); err != nil {
			return err
		}
	}
	kept := make(map[int64]bool)
	for _, list := range a.budgets.of {
		for _, b := range list {
			kept[b.id] = true
		}
	}
	stored, err := reader.Open(a.r, reader.Stream[counter]{
		What: "counters of budgets", Query: `SELECT u.budget, u.period_start, u.user_id, u.used FROM budget_use u
			LEFT JOIN budgets b ON b.id = u.budget WHERE b.id IS NULL OR b.state < 3`,
		Bind: func(c *counter) []any { return []any{&c.budget, &c.start, &c.user, &c.used} },
	})
	if err != nil {
		return err
	}
	err = stored.Each(func(c *counter) error {
		a.t.row(checkBudgets)
		if !kept[c.budget] {
			a.t.fail(checkBudgets, c.row(), "no budget", "a budget that exists")
			return nil
		}
		c.stored = 1
		return a.budgets.users.Add(c.columns())
	})
	if err != nil {
		return err
	}
	rows, err := reader.OpenSorted(a.r, reader.Stream[counter]{
		What: "sums of budgets", Bind: (*counter).columns,
	}, a.budgets.users)
	if err != nil {
		return err
	}
	return a.compareCounters(rows)
}

// compareCounters compares sums that follow each other by counter, the stored one last.
func (a *auditor) compareCounters(rows *reader.Cursor[counter]) error {
	var group counter
	var want, stored value.Sum
	count := 0
	end := func() {
		switch {
		case count > 1:
			a.t.fail(checkBudgets, group.row(), value.Int(int64(count))+" rows", "one")
		case stored != want:
			a.t.fail(checkBudgets, group.row(), stored.USD(), want.USD()+", the sum of the rewards that count")
		}
	}
	err := rows.Rest(func(c *counter) {
		if c.key() != group.key() {
			end()
			group, want, stored, count = c.key(), value.Sum{}, value.Sum{}, 0
		}
		if c.stored == 0 {
			want.Add(c.used)
			return
		}
		stored.Add(c.used)
		count++
	})
	end()
	return err
}
