package test

import (
	"os"
	"strings"
	"testing"
)

// The audit proves itself on the books of a service that runs, and leaves nothing behind.
func TestAuditProvesItself(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start("--pooling-window", "10ms")
	user := s.newUser("ann")
	s.await(s.give(user, "the-first-one", "5.25", "AAPL").ID, "executed", 20e9)
	temporary := t.TempDir()
	s.env = append(s.env, "TMPDIR="+temporary)
	out := s.command("audit", "--prove")
	if !strings.HasSuffix(out, "43 of 43 kinds of damage were found\n") ||
		!strings.Contains(out, "executed without allocation") {
		t.Errorf("it prints:\n%s", out)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if out := s.command("audit"); !strings.HasSuffix(out, "all 43 checks hold\n") {
		t.Errorf("the books afterwards:\n%s", out)
	}
	if out, err := s.try("audit", "--prove", "--broker"); err == nil {
		t.Errorf("--prove --broker: %s", out)
	}
}
