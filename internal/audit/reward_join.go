package audit

import (
	"errors"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// rewardJoin merges rewards with the rows that belong to them.
type rewardJoin struct {
	a     *auditor
	v     *rewardView // the current reward
	parts *reader.Cursor[part]
	past  *reader.Cursor[pastAllocation]
	open  *reader.Cursor[openReward]
	spans *reader.Cursor[span]
	span  reader.Key // of the last executed reward
}

// begin starts to read.
func (j *rewardJoin) begin() (err error) {
	if j.parts, err = reader.Open(j.a.r, partStream()); err != nil {
		return err
	}
	if j.past, err = reader.Open(j.a.r, pastStream()); err != nil {
		return err
	}
	if j.open, err = reader.Open(j.a.r, openStream()); err != nil {
		return err
	}
	j.spans, err = reader.Open(j.a.r, spanStream())
	return err
}

// claim collects the rows of a reward.
func (j *rewardJoin) claim(r *reward) error {
	v, k := j.v, reader.Key{r.app, r.id}
	*v = rewardView{reward: *r, assets: v.assets, parts: v.parts[:0], past: v.past[:0], open: v.open[:0]}
	return errors.Join(
		j.parts.Claim(k, j.addPart, j.strayPart),
		j.past.Claim(k, func(b *pastAllocation) {
			j.a.t.row(checkTenancy)
			v.past = append(v.past, *b)
		}, j.strayPast),
		j.open.Claim(k, func(o *openReward) { v.open = append(v.open, *o) }, j.a.strayOpen),
	)
}

func (j *rewardJoin) addPart(p *part) {
	j.a.t.row(checkTenancy)
	j.v.parts = append(j.v.parts, *p)
	j.v.booked.Add(p.bought)
	j.v.shares.Add(p.shares)
	if p.allocated() {
		j.v.allocations++
	}
}

func (j *rewardJoin) strayPart(p *part) {
	j.a.notInApp("member of order "+value.UUID(p.order), p.app, "reward", p.reward)
}

func (j *rewardJoin) strayPast(b *pastAllocation) {
	j.a.notInApp("allocation of order "+value.UUID(b.order), b.app, "reward", b.reward)
}

// rest reports the rows of rewards that do not exist.
func (j *rewardJoin) rest() error {
	return errors.Join(j.parts.Rest(j.strayPart), j.past.Rest(j.strayPast), j.open.Rest(j.a.strayOpen),
		j.spans.Rest(j.straySpan))
}
