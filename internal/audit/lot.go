package audit

import (
	"encoding/binary"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// activityLot is a row of lots: a place in a user's activity.
type activityLot struct{ hash, at, place int64 }

func (l *activityLot) columns() []any { return []any{&l.hash, &l.at, &l.place} }

func (l *activityLot) key() reader.Key {
	return reader.Key{ordered(l.hash), ordered(l.at) + ordered(l.place)}
}

func (l *activityLot) name() string {
	return "place " + value.Int(l.place) + " in the activity of users with the hash " + value.Int(l.hash) +
		", at " + value.Time(l.at)
}

// addActivity keeps what the activity of a user must have of a reward, and checks the span of an executed one.
func (j *rewardJoin) addActivity() error {
	for i := range j.v.parts {
		p := &j.v.parts[i]
		if !p.booked() || j.v.status == failed || p.shares == 0 && p.completes == 0 {
			continue
		}
		l := activityLot{hash: idHash(j.v.user), at: p.settledAt, place: p.place}
		if err := j.a.activity.Add(l.columns()); err != nil {
			return err
		}
		if p.completes == 0 {
			continue
		}
		if err := j.claimSpan(); err != nil {
			return err
		}
	}
	return nil
}

// idHash returns the last 8 bytes of an id as a number.
func idHash(id string) int64 {
	var whole [8]byte
	copy(whole[:], id[max(0, len(id)-len(whole)):])
	return int64(binary.BigEndian.Uint64(whole[:]))
}

// activityLots compares the lots with the parts.
func (a *auditor) activityLots() error {
	stream := reader.Stream[activityLot]{What: "expected lots", Bind: (*activityLot).columns, Key: (*activityLot).key}
	want, err := reader.OpenSorted(a.r, stream, a.activity)
	if err != nil {
		return err
	}
	stream.What, stream.Query = "lots", `SELECT user_hash, at, place FROM lots ORDER BY user_hash, at, place`
	lots, err := reader.Open(a.r, stream)
	if err != nil {
		return err
	}
	stray := func(l *activityLot) {
		a.t.row(checkLots)
		a.t.fail(checkLots, l.name(), "a lot", "no lot: no part that changed a holding has this place, user and time")
	}
	err = want.Each(func(w *activityLot) error {
		found := int64(0)
		err := lots.Claim(w.key(), func(*activityLot) { found++ }, stray)
		a.t.row(checkLots)
		if found != 1 {
			a.t.fail(checkLots, w.name(), value.Int(found)+" lots", "one")
		}
		return err
	})
	if err != nil {
		return err
	}
	return lots.Rest(stray)
}

// span is a row of executed_spans.
type span struct{ app, first, until string }

func (s *span) name() string {
	return "span from " + value.Hex(s.first) + " of app " + value.UUID(s.app)
}

func spanStream() reader.Stream[span] {
	return reader.Stream[span]{
		What:  "spans of executed rewards",
		Query: `SELECT app_id, first, until FROM executed_spans ORDER BY app_id, first`,
		Bind:  func(s *span) []any { return []any{&s.app, &s.first, &s.until} },
		Key:   func(s *span) reader.Key { return reader.Key{s.app, s.first} },
	}
}

// claimSpan checks the span of the current reward, unless it is that of the reward before.
func (j *rewardJoin) claimSpan() error {
	const millis, unused = 128, 2 // an id begins with its time in milliseconds, 6 bytes
	var b [8]byte
	copy(b[unused:], j.v.id)
	first := binary.BigEndian.Uint64(b[:]) &^ (millis - 1)
	edge := func(at uint64) string { return string(binary.BigEndian.AppendUint64(nil, at)[unused:]) }
	want := span{app: j.v.app, first: edge(first), until: edge(first + millis)}
	k := reader.Key{want.app, want.first}
	if k == j.span {
		return nil
	}
	j.span = k
	found := 0
	err := j.spans.Claim(k, func(s *span) {
		found++
		if s.until != want.until {
			j.a.t.fail(checkSpans, s.name(), "until "+value.Hex(s.until), value.Hex(want.until)+", 128 ms later")
		}
	}, j.straySpan)
	j.a.t.row(checkSpans)
	if found != 1 {
		j.a.t.fail(checkSpans, want.name(), value.Int(int64(found))+" rows", "one, for "+j.v.name())
	}
	return err
}

func (j *rewardJoin) straySpan(s *span) {
	j.a.t.row(checkSpans)
	j.a.t.fail(checkSpans, s.name(), "a span", "no span that begins there: no executed reward of the app is in it")
}
