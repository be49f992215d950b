package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
)

// deed is a row of operator_log.
type deed struct {
	number, at                                    int64
	actor, command, object, before, after, reason string
	previous, hash                                string
}

func (d *deed) name() string { return "deed " + number(d.number) + " (" + d.command + ")" }

func deedStream() stream[deed] {
	return stream[deed]{
		what: "operator log",
		query: `SELECT number, at, actor, command, object, state_before, state_after, reason, previous, hash
			FROM operator_log ORDER BY number`,
		bind: func(d *deed) []any {
			return []any{
				&d.number, &d.at, &d.actor, &d.command, &d.object, &d.before, &d.after, &d.reason, &d.previous, &d.hash,
			}
		},
		key: func(*deed) key { return key{} },
	}
}

// computed is the hash that a deed must have: a version, then a SHA-256 of the version,
// the hash before, the number, the microseconds and the texts with their lengths.
func (d *deed) computed() string {
	const version = "\x01"
	content := []byte(version + d.previous)
	content = binary.BigEndian.AppendUint64(content, unsigned(d.number))
	content = binary.BigEndian.AppendUint64(content, unsigned(d.at))
	for _, text := range []string{d.actor, d.command, d.object, d.before, d.after, d.reason} {
		content = appendText(content, text)
	}
	sum := sha256.Sum256(content)
	return version + string(sum[:])
}

// decided is what the operator log says of all objects: the newest value of every field.
type decided struct {
	fields map[string]map[string]string // by object and name
	seen   map[string]bool              // objects that are in the books
	paused string                       // why, as the books say now

	sealedFrom int64 // microseconds: rewards and users made since are sealed
}

// note takes what a deed left of an object.
func (d *decided) note(object string, fields map[string]string) {
	if d.fields[object] == nil {
		d.fields[object] = make(map[string]string)
	}
	for name, value := range fields {
		d.fields[object][name] = value
	}
}

// readLog checks the chain of the operator log, and learns what was decided.
func (a *auditor) readLog(ctx context.Context) error {
	a.decided = decided{fields: make(map[string]map[string]string), seen: make(map[string]bool)}
	kept, err := a.readLogSettings(ctx)
	if err != nil {
		return err
	}
	const hashBytes = 1 + sha256.Size
	last := deed{hash: strings.Repeat("\x00", hashBytes)}
	err = readAll(ctx, a, deedStream(), func(d *deed) {
		a.t.row(checkOperatorLog)
		fields, readable := fieldsOf(d.after)
		switch {
		case d.number != last.number+1:
			a.t.fail(checkOperatorLog, d.name(), "after deed "+number(last.number), "the number that follows")
		case d.previous != last.hash:
			a.t.fail(checkOperatorLog, d.name(), "another hash of the deed before it", digits(last.hash))
		case d.hash != d.computed():
			a.t.fail(checkOperatorLog, d.name(), digits(d.hash), "the hash of its content, "+digits(d.computed()))
		case !readable:
			a.t.fail(checkOperatorLog, d.name(), strconv.Quote(d.after), "a state that can be read")
		}
		a.decided.note(d.object, fields)
		last = *d
	})
	if err != nil {
		return err
	}
	head := ""
	if last.number > 0 {
		head = number(last.number) + ":" + hex.EncodeToString([]byte(last.hash))
	}
	if head != kept {
		a.t.fail(checkOperatorLog, "the newest deed", strconv.Quote(head),
			strconv.Quote(kept)+", the head that the books keep")
	}
	return nil
}

// readLogSettings reads the head that the books keep, whether ordering is paused, and
// since when rewards and users are sealed.
func (a *auditor) readLogSettings(ctx context.Context) (head string, err error) {
	type setting struct {
		kind  int64
		value string
	}
	err = readAll(ctx, a, stream[setting]{
		what: "settings", query: `SELECT CASE name WHEN 'log_head' THEN 0 WHEN 'paused' THEN 1 ELSE 2 END, value
			FROM settings WHERE name IN ('log_head', 'paused', 'sealed_from')`,
		bind: func(s *setting) []any { return []any{&s.kind, &s.value} },
		key:  func(*setting) key { return key{} },
	}, func(s *setting) {
		switch s.kind {
		case 0:
			head = s.value
		case 1:
			a.decided.paused = s.value
		default:
			from, err := time.Parse(time.RFC3339Nano, s.value)
			if err != nil {
				a.t.fail(checkOperatorLog, "the setting sealed_from", strconv.Quote(s.value), "a time")
			}
			a.decided.sealedFrom = from.UnixMicro()
		}
	})
	return head, err
}

// fieldsOf reads `name="value" other="value"`.
func fieldsOf(text string) (map[string]string, bool) {
	fields := make(map[string]string)
	for text != "" {
		end := strings.IndexByte(text, '=')
		if end < 1 {
			return fields, false
		}
		quoted, err := strconv.QuotedPrefix(text[end+1:])
		if err != nil {
			return fields, false
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return fields, false
		}
		fields[text[:end]] = value
		text = strings.TrimPrefix(text[end+1+len(quoted):], " ")
	}
	return fields, true
}

// decidedField is one value of an object as the books have it now.
type decidedField struct{ name, value string }

// checkDecided compares an object with what the operator log says of it. Fields that no
// deed is about must have the values of unsaid, or be "". Unsaid nil: there must be a deed.
func (a *auditor) checkDecided(object string, unsaid []decidedField, now ...decidedField) {
	a.t.row(checkOperatorState)
	a.decided.seen[object] = true
	said := a.decided.fields[object]
	if said == nil && unsaid == nil {
		a.t.fail(checkOperatorState, object, "no deed of it in the operator log", "the deed that created it")
		return
	}
	for _, f := range now {
		want, found := said[f.name]
		if i := slices.IndexFunc(unsaid, func(u decidedField) bool { return u.name == f.name }); !found && i >= 0 {
			want = unsaid[i].value
		}
		if f.value != want {
			a.t.fail(checkOperatorState, object, f.name+"="+strconv.Quote(f.value),
				strconv.Quote(want)+", as its newest deed left it")
		}
	}
}

// checkAllDecided checks the pause, and that nothing that operators made is missing.
func (a *auditor) checkAllDecided(context.Context) error {
	a.checkDecided("ordering", []decidedField{{"paused", ""}}, decidedField{"paused", a.decided.paused})
	var gone []string
	for object := range a.decided.fields {
		kind, _, _ := strings.Cut(object, " ")
		if !a.decided.seen[object] && slices.Contains([]string{"app", "key", "asset"}, kind) {
			gone = append(gone, object)
		}
	}
	slices.Sort(gone)
	for _, object := range gone {
		a.t.fail(checkOperatorState, object, "no row", "one: the operator log has a deed of it")
	}
	return nil
}

func yesNo(flag int64) string {
	switch flag {
	case 0:
		return "no"
	case 1:
		return "yes"
	}
	return number(flag)
}

// instant is a time as the operator log has it.
func instant(n int64) string {
	if n == 0 {
		return ""
	}
	return micros(n)
}

// limit is a limit as the operator log has it; "" when it is the default.
func limit(n int64) string {
	if n == 0 {
		return ""
	}
	return number(n)
}

// digits is bytes for people.
func digits(bytes string) string { return "0x" + hex.EncodeToString([]byte(bytes)) }
