package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/rewards"
)

// createRewards serves POST /v1/rewards/batches (additions, section 2).
func (s *server) createRewards(ctx context.Context, c call) (reply, error) {
	b := &batch{app: c.app}
	if err := s.decode(c.body, b); err != nil {
		return reply{}, err
	}
	if err := b.err(); err != nil {
		return reply{}, err
	}
	c.ticket.Decoded()
	if err := c.ticket.Charge(len(b.results)); err != nil {
		return reply{}, err
	}
	if err := b.award(ctx, s.Service); err != nil {
		return reply{}, err
	}
	return b.reply(func(err error) {
		f := failed{c.id, c.app, err}
		s.Log.LogAttrs(ctx, f.level(), "items of a batch failed", f.attrs()...)
	}), nil
}

// batch is a list of requests for awards. Requests are independent: each has its own result.
type batch struct {
	app     rewards.AppID
	rest    form // the member rewards if it is no list
	listed  bool // it is a list
	count   int  // of its items
	item    form // that is being read
	results []result
	valid   []rewards.NewReward
	places  []int // of the valid ones in results
}

// result is what became of an item.
type result struct {
	rewards.Awarded

	index int
}

const itemsMember = "rewards"

// read implements reader. It decodes each item as soon as it is read.
func (b *batch) read(d *jsontext.Decoder, body []byte) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := next(d, body)
		if err != nil {
			return err
		}
		if spells(name, itemsMember) && d.PeekKind() == '[' {
			b.listed = true
			err = b.readItems(d, body)
		} else {
			err = b.readOther(d, body, name)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

func (b *batch) readOther(d *jsontext.Decoder, body []byte, name jsontext.Value) error {
	value, err := next(d, body)
	if spells(name, itemsMember) {
		b.rest.members = append(b.rest.members, member{name, value})
	}
	return err
}

func (b *batch) readItems(d *jsontext.Decoder, body []byte) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		if err := b.readItem(d, body); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// readItem reads an item. Those beyond the limit are only counted.
func (b *batch) readItem(d *jsontext.Decoder, body []byte) error {
	b.count++
	if b.count > rewards.MaxBatch {
		return d.SkipValue()
	}
	r := result{index: len(b.results)}
	if d.PeekKind() != '{' {
		r.Err = badRequest(rewards.Issue{Message: "the item must be a JSON object"})
		b.results = append(b.results, r)
		return d.SkipValue()
	}
	b.item.members, b.item.issues = b.item.usual[:0], nil
	if err := b.item.read(d, body); err != nil {
		return err
	}
	var n rewards.NewReward
	if n, r.Err = b.item.newReward(b.app); r.Err == nil {
		b.valid, b.places = append(b.valid, n), append(b.places, r.index)
	}
	b.results = append(b.results, r)
	return nil
}

// err refuses a batch without a list of items, or with an empty or too long one.
func (b *batch) err() error {
	switch {
	case !b.listed:
		b.rest.member(itemsMember, true, '[')
	case b.count < 1 || b.count > rewards.MaxBatch:
		b.rest.issue(itemsMember, "must have 1 to "+strconv.Itoa(rewards.MaxBatch)+" items")
	}
	return b.rest.err()
}

// award records the valid items and adds their results.
func (b *batch) award(ctx context.Context, service *rewards.Service) error {
	if len(b.valid) == 0 {
		return nil
	}
	list, err := service.AwardAll(ctx, b.app, b.valid)
	for i, a := range list {
		b.results[b.places[i]].Awarded = a
	}
	return err
}

// reply writes the results. It logs the first failure of the service.
func (b *batch) reply(log func(failed error)) reply {
	var t tally
	var failed error
	for _, r := range b.results {
		switch {
		case r.Err != nil:
			t.refused++
			if status, _, _ := describe(r.Err); failed == nil && status >= http.StatusInternalServerError {
				failed = r.Err
			}
		case r.Replayed:
			t.replayed++
		default:
			t.created++
		}
	}
	if failed != nil {
		log(failed)
	}
	o := begin(make([]byte, 0, usualReply*len(b.results)))
	appendList(&o, "results", b.results, appendResult)
	o.name("summary")
	summary := begin(o.b)
	t.append(&summary)
	o.b = summary.end()
	return reply{status: http.StatusOK, body: o.end(), items: t}
}

// describeItem describes an item's error as describe does that of a request. A defect of the
// service is 503 as well: the client can only send the item again.
func describeItem(err error) (int, string, *rewards.Error) {
	status, code, e := describe(err)
	if status >= http.StatusInternalServerError {
		status = http.StatusServiceUnavailable
	}
	return status, code, e
}

func appendResult(b []byte, r result) []byte {
	o := begin(b)
	o.integer("index", r.index)
	if r.Err != nil {
		status, code, e := describeItem(r.Err)
		o.integer("status", status)
		o.name("error")
		inner := beginError(o.b, code, e)
		o.b = inner.end()
		return o.end()
	}
	status := http.StatusCreated
	if r.Replayed {
		status = http.StatusOK
	}
	o.integer("status", status)
	appendObject(&o, "reward", appendReward, r.Reward)
	o.boolean("idempotentReplay", r.Replayed)
	return o.end()
}

// tally counts the results of a batch.
type tally struct{ created, replayed, refused int }

// append writes the counts as members, if there is a batch.
func (t tally) append(o *object) {
	if t == (tally{}) {
		return
	}
	o.integer("created", t.created)
	o.integer("replayed", t.replayed)
	o.integer("refused", t.refused)
}
