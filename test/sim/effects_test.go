package sim

import (
	"context"
	"time"

	"stockrewards/internal/fulfillment"
	"stockrewards/internal/rewards"
)

// mortalStore makes each of the worker's writes an effect.
type mortalStore struct {
	fulfillment.Store
	p *process
}

func (m mortalStore) TakeLease(ctx context.Context, holder string, ttl time.Duration, force bool) (lease rewards.Lease, err error) {
	err = m.p.do(effect{name: "TakeLease", row: rowLease}, func() (err error) {
		lease, err = m.Store.TakeLease(ctx, holder, ttl, force)
		return err
	})
	return lease, err
}

func (m mortalStore) PlanOrder(
	ctx context.Context, lease rewards.Lease, r rewards.PlanRequest,
) (o rewards.Order, hold rewards.Hold, err error) {
	err = m.p.do(effect{name: "PlanOrder", row: rowRecorded}, func() (err error) {
		o, hold, err = m.Store.PlanOrder(ctx, lease, r)
		if err == nil && hold == rewards.NoHold {
			if m.p.beganStopped {
				m.p.lab.violate("while ordering is stopped nothing is planned", o.ClientOrderID, "by %s", m.p.name)
			}
			m.p.lab.overdue(m.p)
			m.p.lab.sawPlanned(m.p, o)
		}
		return err
	})
	return o, hold, err
}

func (m mortalStore) BeginAttempt(
	ctx context.Context, lease rewards.Lease, o rewards.Order, next, deadline time.Time,
) (got rewards.Order, err error) {
	err = m.p.do(effect{name: "BeginAttempt", row: rowOf(o)}, func() (err error) {
		if got, err = m.Store.BeginAttempt(ctx, lease, o, next, deadline); err == nil {
			m.p.sawAttempt(o)
		}
		return err
	})
	return got, err
}

func (m mortalStore) SaveOrder(ctx context.Context, lease rewards.Lease, from rewards.OrderState, o rewards.Order) error {
	before := o
	before.State = from
	m.p.lab.sawNews(before)
	return m.p.do(effect{name: "SaveOrder", row: rowOf(before)}, func() error {
		return m.Store.SaveOrder(ctx, lease, from, o)
	})
}

func (m mortalStore) SettleOrders(ctx context.Context, lease rewards.Lease, list ...rewards.OrderEnd) (n int, err error) {
	var rows []string
	for _, end := range list {
		before := end.Order
		before.State = end.From
		m.p.lab.sawNews(before)
		rows = append(rows, rowOf(before))
		if end.From != end.Order.State {
			m.p.lab.sawNews(end.Order)
			rows = append(rows, rowOf(end.Order))
		}
	}
	err = m.p.do(effect{name: "SettleOrders", row: rows[0], also: rows[1:]}, func() (err error) {
		n, err = m.Store.SettleOrders(ctx, lease, list...)
		for _, end := range list[:n] {
			m.p.lab.sawSettled(end.Order)
		}
		return err
	})
	return n, err
}

func (m mortalStore) SaveReconciliation(
	ctx context.Context, lease rewards.Lease, found []rewards.BrokerConflict, until time.Time,
) error {
	return m.p.do(effect{name: "SaveReconciliation", row: rowCompared}, func() error {
		before, err := m.ReconciledUntil(ctx)
		if err != nil {
			return err
		}
		err = m.Store.SaveReconciliation(ctx, lease, found, until)
		if err == nil {
			m.p.lab.sawCompared(m.p, until.After(before))
		}
		return err
	})
}

// Control is no effect, but the process must obey what it has read.
func (m mortalStore) Control(ctx context.Context) (rewards.Control, error) {
	m.p.sawControl()
	return m.Store.Control(ctx)
}

func (m mortalStore) CorrectOrder(
	ctx context.Context, lease rewards.Lease, o rewards.Order, b rewards.BrokerOrder, activity string,
) error {
	return m.p.do(effect{name: "CorrectOrder", row: rowFinal}, func() error {
		l := m.p.lab
		before, _ := l.order(o.ClientOrderID)
		err := m.Store.CorrectOrder(ctx, lease, o, b, activity)
		if after, _ := l.order(o.ClientOrderID); err == nil && after.Corrected != before.Corrected {
			l.sawCorrected(m.p, before, after)
		}
		return err
	})
}
