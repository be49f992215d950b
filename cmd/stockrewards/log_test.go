package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// reader takes what is written while it is open; while shut, writing waits.
type reader struct {
	mu   sync.Mutex
	shut chan struct{} // nil while open
	text []byte
}

// Write implements io.Writer.
func (r *reader) Write(b []byte) (int, error) {
	r.mu.Lock()
	shut := r.shut
	r.mu.Unlock()
	if shut != nil {
		<-shut
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, b...)
	return len(b), nil
}

func (r *reader) lines() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.SplitAfter(strings.TrimSuffix(string(r.text), "\n"), "\n")
}

func TestLinesOfRequestsAreWrittenTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &reader{}
		late := newLogWriter(out, jsonLines)
		log := slog.New(newLogHandler(late))
		time.Sleep(maxDelay)
		synctest.Wait()
		log.Info("request", slog.Int("status", 200))
		log.Info("request", slog.Int("status", 201))
		if got := out.lines(); got[0] != "" {
			t.Error("a request was written by itself")
		}
		log.Warn("something else")
		if got := out.lines(); len(got) != 3 || !strings.HasSuffix(got[2], "something else\"}") {
			t.Errorf("written %q, want everything, in order", got)
		}
		log.Info("request", slog.Int("status", 200))
		time.Sleep(maxDelay)
		if len(out.lines()) != 4 {
			t.Error("a request was not written in time")
		}
		for range maxBatch / 100 {
			log.Info("request", slog.String("text", strings.Repeat("x", 100)))
		}
		if len(out.lines()) <= 4 {
			t.Error("more than the most was held back")
		}
		late.Close()
		if len(out.lines()) != 4+maxBatch/100 {
			t.Errorf("%d lines at the end", len(out.lines()))
		}
	})
}

// While nobody reads the log, logging goes on without waiting and remembers a bounded
// part; when it is read again, everything remembered comes in order, and then how many
// lines were lost. Closing waits for a bounded time.
func TestALogThatNobodyReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &reader{shut: make(chan struct{})}
		late := newLogWriter(out, jsonLines)
		log := slog.New(newLogHandler(late))
		began := time.Now()
		const many, size = 200, 100_000
		for i := range many {
			log.Warn("line", slog.Int("n", i), slog.String("text", strings.Repeat("x", size)))
			synctest.Wait()
		}
		dropped := late.Dropped()
		if dropped < many-maxLog/size-1 || dropped == many || !time.Now().Equal(began) {
			t.Errorf("%d of %d lines dropped after %s", dropped, many, time.Since(began))
		}
		close(out.shut)
		out.mu.Lock()
		out.shut = nil
		out.mu.Unlock()
		got := out.lines()
		for i, line := range got[:len(got)-1] {
			if want := fmt.Sprintf(`"n":%d,`, i); !strings.Contains(line, want) {
				t.Fatalf("line %d is %.80s", i, line)
			}
		}
		want := fmt.Sprintf(`"msg":"log lines were dropped: nobody read the log","lines":%d}`, dropped)
		if last := got[len(got)-1]; int64(len(got)-1) != many-dropped || !strings.HasSuffix(last, want) {
			t.Errorf("%d lines, the last is %.200s", len(got), last)
		}
		hang := make(chan struct{})
		out.mu.Lock()
		out.shut = hang
		out.mu.Unlock()
		log.Warn("never read")
		late.Close()
		if took := time.Since(began); took != flushLimit {
			t.Errorf("closing took %s", took)
		}
		close(hang)
	})
}

// Lines that cannot be written are counted as dropped.
func TestALogWhoseReaderHasGone(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	late := newLogWriter(out, jsonLines)
	log := slog.New(newLogHandler(late))
	log.Warn("one")
	log.Warn("another")
	late.Close()
	if n := late.Dropped(); n != 2 {
		t.Errorf("%d lines dropped, want 2", n)
	}
}
