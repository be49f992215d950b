package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// logEntry is a row of operator_log.
type logEntry struct {
	number, at                                    int64
	actor, command, object, before, after, reason string
	previous, hash                                string
}

func (e *logEntry) name() string { return "log entry " + value.Int(e.number) + " (" + e.command + ")" }

func logStream() reader.Stream[logEntry] {
	return reader.Stream[logEntry]{
		What: "operator log",
		Query: `SELECT number, at, actor, command, object, state_before, state_after, reason, previous, hash
			FROM operator_log ORDER BY number`,
		Bind: func(e *logEntry) []any {
			return []any{
				&e.number, &e.at, &e.actor, &e.command, &e.object, &e.before, &e.after, &e.reason, &e.previous, &e.hash,
			}
		},
	}
}

// computed returns the hash that an entry must have: a version, then SHA-256 of the version, the
// previous hash, the number, the microseconds and the strings with their lengths.
func (e *logEntry) computed() string {
	const version = "\x01"
	content := []byte(version + e.previous)
	content = binary.BigEndian.AppendUint64(content, uint64(e.number))
	content = binary.BigEndian.AppendUint64(content, uint64(e.at))
	for _, s := range []string{e.actor, e.command, e.object, e.before, e.after, e.reason} {
		content = appendString(content, s)
	}
	sum := sha256.Sum256(content)
	return version + string(sum[:])
}

// decided is the newest value of every field that operators decide, as the log has it.
type decided struct {
	fields map[string]map[string]string // by object and field
	seen   map[string]bool              // the objects that have a row
	paused string                       // why ordering is paused, as the store has it

	sealedFrom int64 // microseconds; later rewards and users are sealed
}

// note adds the fields of an entry.
func (d *decided) note(object string, fields map[string]string) {
	if d.fields[object] == nil {
		d.fields[object] = make(map[string]string)
	}
	maps.Copy(d.fields[object], fields)
}

// readLog checks the hash chain of the operator log and collects what was decided.
func (a *auditor) readLog() error {
	kept, err := a.readLogSettings()
	if err != nil {
		return err
	}
	const hashBytes = 1 + sha256.Size
	last := logEntry{hash: strings.Repeat("\x00", hashBytes)}
	err = reader.Each(a.r, logStream(), func(e *logEntry) {
		a.t.row(checkOperatorLog)
		fields, readable := parseFields(e.after)
		switch {
		case e.number != last.number+1:
			a.t.fail(checkOperatorLog, e.name(), "after entry "+value.Int(last.number), "the next number")
		case e.previous != last.hash:
			a.t.fail(checkOperatorLog, e.name(), "another hash of the entry before it", value.Hex(last.hash))
		case e.hash != e.computed():
			a.t.fail(checkOperatorLog, e.name(), value.Hex(e.hash), "the hash of its content, "+value.Hex(e.computed()))
		case !readable:
			a.t.fail(checkOperatorLog, e.name(), strconv.Quote(e.after), `fields as name="value"`)
		}
		a.decided.note(e.object, fields)
		if e.object == "catalog" {
			a.symbols.noteSync(fields["renamed"])
		}
		last = *e
	})
	if err != nil {
		return err
	}
	head := ""
	if last.number > 0 {
		head = value.Int(last.number) + ":" + hex.EncodeToString([]byte(last.hash))
	}
	if head != kept {
		a.t.fail(checkOperatorLog, "the newest log entry", strconv.Quote(head),
			strconv.Quote(kept)+", the head that the store keeps")
	}
	return nil
}

// readLogSettings reads the head that the store keeps, the pause, and the start of sealing.
func (a *auditor) readLogSettings() (head string, err error) {
	type setting struct{ name, value string }
	err = reader.Each(a.r, reader.Stream[setting]{
		What: "settings", Query: `SELECT name, value FROM settings WHERE name IN ('log_head', 'paused', 'sealed_from')`,
		Bind: func(s *setting) []any { return []any{&s.name, &s.value} },
	}, func(s *setting) {
		switch s.name {
		case "log_head":
			head = s.value
		case "paused":
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

// parseFields parses `name="value" other="value"`.
func parseFields(s string) (map[string]string, bool) {
	fields := make(map[string]string)
	for s != "" {
		end := strings.IndexByte(s, '=')
		if end < 1 {
			return fields, false
		}
		quoted, err := strconv.QuotedPrefix(s[end+1:])
		if err != nil {
			return fields, false
		}
		v, err := strconv.Unquote(quoted)
		if err != nil {
			return fields, false
		}
		fields[s[:end]] = v
		s = strings.TrimPrefix(s[end+1+len(quoted):], " ")
	}
	return fields, true
}

// decidedField is the current value of a field that operators decide.
type decidedField struct{ name, value string }

// checkDecided compares an object with the operator log. A field without an entry must have its
// default, or "". If defaults is nil, the object must have an entry.
func (a *auditor) checkDecided(object string, defaults []decidedField, now ...decidedField) {
	a.t.row(checkOperatorState)
	a.decided.seen[object] = true
	logged := a.decided.fields[object]
	if logged == nil && defaults == nil {
		a.t.fail(checkOperatorState, object, "no log entry", "the entry that created it")
		return
	}
	for _, f := range now {
		want, found := logged[f.name]
		if i := slices.IndexFunc(defaults, func(d decidedField) bool { return d.name == f.name }); !found && i >= 0 {
			want = defaults[i].value
		}
		if f.value != want {
			a.t.fail(checkOperatorState, object, f.name+"="+strconv.Quote(f.value),
				strconv.Quote(want)+", as its newest log entry left it")
		}
	}
}

// checkAllDecided checks the pause, and that every object of the log still has a row.
func (a *auditor) checkAllDecided() {
	a.checkDecided("ordering", []decidedField{{"paused", ""}}, decidedField{"paused", a.decided.paused})
	var gone []string
	for object := range a.decided.fields {
		kind, _, _ := strings.Cut(object, " ")
		removed := a.decided.fields[object]["removed"] == "yes"
		if !a.decided.seen[object] && !removed && slices.Contains([]string{"app", "key", "asset", "budget"}, kind) {
			gone = append(gone, object)
		}
	}
	slices.Sort(gone)
	for _, object := range gone {
		a.t.fail(checkOperatorState, object, "no row", "one: the operator log has an entry for it")
	}
}

// policy formats what becomes of an app's dividends as the operator log does; "" is the default.
func (d *decided) policy(object string, policy int64) string {
	names := map[int64]string{1: "reinvest", 2: "house"}
	if _, logged := d.fields[object]["dividends"]; policy == 1 && !logged {
		return ""
	}
	return names[policy]
}

// counted formats whether a budget's past is counted as the operator log does; "" when an earlier version set the
// budget, which did not log it.
func (d *decided) counted(object string, state int64) string {
	if _, logged := d.fields[object]["counted"]; !logged {
		return ""
	}
	return yesNo(state - budgetCounting)
}

func yesNo(flag int64) string {
	switch flag {
	case 0:
		return "no"
	case 1:
		return "yes"
	}
	return value.Int(flag)
}

// instant formats a time as the operator log does.
func instant(n int64) string {
	if n == 0 {
		return ""
	}
	return value.Time(n)
}

// limit formats a limit as the operator log does; "" means the default.
func limit(n int64) string {
	if n == 0 {
		return ""
	}
	return value.Int(n)
}

// appendString appends the length of a string and the string.
func appendString(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}
