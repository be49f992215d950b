package audit

import (
	"math"
	"strings"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// openReward is a row of open_rewards.
type openReward struct {
	app, reward                     string
	asset, status, waiting, pending int64
	place                           int64 // in the order that has it
}

func openStream() reader.Stream[openReward] {
	return reader.Stream[openReward]{
		What:  "open rewards",
		Query: `SELECT app_id, id, asset_id, status, waiting, pending, place FROM open_rewards`,
		Sort:  true,
		Bind: func(o *openReward) []any {
			return []any{&o.app, &o.reward, &o.asset, &o.status, &o.waiting, &o.pending, &o.place}
		},
		Key: func(o *openReward) reader.Key { return reader.Key{o.app, o.reward} },
	}
}

// arrivals says which rewards open_rewards does not have yet: those after a number, which have the
// ids after this one.
type arrivals struct {
	number int64
	id     string
}

// readArrivals reads the only row, and checks that there is one. PostgreSQL has no arrivals.
func (a *auditor) readArrivals() error {
	a.arrivals = arrivals{math.MaxInt64, strings.Repeat("\xff", value.IDBytes)}
	if !a.inSegments {
		return nil
	}
	rows := 0
	err := reader.Each(a.r, reader.Stream[arrivals]{
		What: "arrivals", Query: `SELECT number, id FROM arrivals_after`,
		Bind: func(b *arrivals) []any { return []any{&b.number, &b.id} },
	}, func(b *arrivals) { a.arrivals, rows = *b, rows+1 })
	if err == nil && rows != 1 {
		a.t.fail(checkOpenRewards, "arrivals_after", value.Int(int64(rows))+" rows",
			"one: otherwise what is recorded next is not bought")
	}
	return err
}

// checkArrivalsEnd checks, when the newest reward has been read, that the next one will be an arrival.
func (a *auditor) checkArrivalsEnd(newest int64) {
	if a.inSegments && a.arrivals.number != math.MaxInt64 && a.arrivals.number > newest {
		a.t.fail(checkOpenRewards, "arrivals_after", "number "+value.Int(a.arrivals.number),
			"at most "+value.Int(newest)+", that of the newest reward: otherwise what is recorded next is not bought")
	}
}

// checkArrival checks that the number and the id of a reward agree on whether it is an arrival.
func (a *auditor) checkArrival(r *reward) {
	if byNumber, byID := r.number > a.arrivals.number, r.id > a.arrivals.id; byNumber != byID {
		a.t.row(checkOpenRewards)
		a.t.fail(checkOpenRewards, r.name(), "number "+value.Int(r.number),
			"a number and an id after, or not after, those of arrivals_after")
	}
}

// setOpen completes a reward that is not final by what open_rewards has of it, or an arrival would have.
func (a *auditor) setOpen(v *rewardView) {
	v.stored = v.status
	if v.stored == recorded && v.id > a.arrivals.id {
		v.open = append(v.open, openReward{v.app, v.id, v.asset, recorded, 1, v.amount, 0})
	}
	if len(v.open) > 0 {
		v.waiting = v.open[0].waiting
		if v.stored == recorded {
			v.status = v.open[0].status
		}
	}
}

func openRow(v *rewardView) (found, expected string) {
	open := v.stored == recorded
	return judge(
		v.describe,
		must{open == (len(v.open) > 0) && len(v.open) <= 1, "one row of open_rewards exactly while it is not final"},
		must{
			len(v.open) == 0 || v.open[0].status == recorded || v.open[0].status == executing,
			"a status of 1 or 2 in open_rewards",
		},
		must{len(v.open) == 0 || v.open[0].asset == v.asset, "its stock in open_rewards"},
		must{
			len(v.open) == 0 || v.open[0].pending == v.amount-v.reward.booked,
			"the rest of its amount in open_rewards",
		},
	)
}

func (a *auditor) strayOpen(o *openReward) {
	a.notInApp("open reward", o.app, "reward", o.reward)
}
