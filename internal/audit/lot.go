package audit

import (
	"encoding/binary"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// activityLot is a lot as it must be: a part of an award that changed its user's holdings.
type activityLot struct{ user, place, hash, at int64 }

func (l *activityLot) columns() []any { return []any{&l.user, &l.place, &l.hash, &l.at} }

func (l *activityLot) key() reader.Key { return reader.Key{ordered(l.user), ordered(l.place)} }

// lotName names a lot.
func lotName(user, place int64) string {
	return "place " + value.Int(place) + " in the activity of users whose ids end with " + value.Int(user)
}

// addActivity keeps what the activity of a user must have of a reward, and checks the span of an executed one.
func (j *rewardJoin) addActivity() error {
	for i := range j.v.parts {
		p := &j.v.parts[i]
		if !p.booked() || j.v.status == failed || p.shares == 0 && p.completes == 0 {
			continue
		}
		hash := idHash(j.v.user)
		l := activityLot{user: hash & (1<<lotUserBits - 1), place: p.place, hash: hash, at: p.settledAt}
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
