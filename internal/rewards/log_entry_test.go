package rewards_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

// aLog returns a log of three entries.
func aLog() (list []rewards.LogEntry) {
	by := rewards.Operator{Actor: "ann@db1", Command: "app suspend", Reason: "why"}
	var head rewards.LogHead
	for i, c := range []rewards.Change{
		{Object: "app 1", After: rewards.State{{"name", "shop"}, {"suspended", "no"}}},
		{Object: "app 1", Before: rewards.State{{"suspended", "no"}}, After: rewards.State{{"suspended", "yes"}}},
		{Object: "ordering", Before: rewards.PausedState("x"), After: rewards.PausedState("")},
	} {
		at := time.Date(2026, 11, 22, 12, 0, i, 123_456_789, time.UTC)
		d := rewards.NextLogEntry(head, at, by, c)
		list, head = append(list, d), d.Head()
	}
	return list
}

// TestLogEntriesFollow: any change of an entry is found at the first bad entry.
func TestLogEntriesFollow(t *testing.T) {
	t.Parallel()
	log := aLog()
	var head rewards.LogHead
	for _, d := range log {
		check(t, d.Follows(head))
		if parsed, err := rewards.ParseLogHead(d.Head().String()); err != nil || parsed != d.Head() {
			t.Errorf("%s is read as %s: %v", d.Head(), parsed, err)
		}
		head = d.Head()
	}
	for what, change := range map[string]func(d *rewards.LogEntry){
		"number":   func(d *rewards.LogEntry) { d.Number++ },
		"time":     func(d *rewards.LogEntry) { d.At = d.At.Add(time.Microsecond) },
		"actor":    func(d *rewards.LogEntry) { d.Actor = "bob@db1" },
		"command":  func(d *rewards.LogEntry) { d.Command = "x" },
		"object":   func(d *rewards.LogEntry) { d.Object = "x" },
		"before":   func(d *rewards.LogEntry) { d.Before = "" },
		"after":    func(d *rewards.LogEntry) { d.After = "" },
		"reason":   func(d *rewards.LogEntry) { d.Reason = "" },
		"moved":    func(d *rewards.LogEntry) { d.Reason, d.After = d.Reason[1:], d.Reason[:1]+d.After },
		"previous": func(d *rewards.LogEntry) { d.Previous[5]++ },
		"hash":     func(d *rewards.LogEntry) { d.Hash[5]++ },
		"version":  func(d *rewards.LogEntry) { d.Hash[0]++ },
	} {
		d := log[1]
		change(&d)
		if d.Follows(log[0].Head()) == nil {
			t.Errorf("a changed %s is not found", what)
		}
	}
	if log[2].Follows(log[0].Head()) == nil {
		t.Error("a missing entry is not found")
	}
	for what, head := range map[string]rewards.LogHead{
		"after another entry": {Number: 1, Hash: log[1].Hash}, "with a gap": {Number: 4, Hash: log[0].Hash},
	} {
		again := rewards.NextLogEntry(head, log[1].At, log[1].Operator, rewards.Change{Object: "app 1"})
		if again.Follows(log[0].Head()) == nil {
			t.Errorf("a recreated entry %s is not found", what)
		}
	}
	for _, text := range []string{"", "1", "1:", ":00", "0:" + log[0].Hash.String(), "1:00", "x:" + log[0].Hash.String(), log[0].Head().String() + "00"} {
		if h, err := rewards.ParseLogHead(text); err == nil {
			t.Errorf("%q is read as %s", text, h)
		}
	}
}

func TestChangedIsForPeople(t *testing.T) {
	t.Parallel()
	var got []string
	for _, d := range aLog() {
		got = append(got, d.Changed())
	}
	if diff := cmp.Diff([]string{"name: shop, suspended: no", "suspended: no -> yes", "paused: x -> -"}, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// FuzzState checks that a stored state reads back, and that no other string panics.
func FuzzState(f *testing.F) {
	f.Add("name", "a \"quoted\" value=x\n\x1b\xff")
	f.Add(`a="b" c=`, "")
	f.Fuzz(func(t *testing.T, text, value string) {
		s := rewards.State{{"first", value}, {"second", text}}
		got, err := rewards.ParseState(s.String())
		if diff := cmp.Diff(s, got); diff != "" || err != nil {
			t.Errorf("read back (-want +got): %v\n%s", err, diff)
		}
		_, _ = rewards.ParseState(text)
	})
}
