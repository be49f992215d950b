package server_test

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/server"
)

const (
	batchDelay = 100 * time.Millisecond
	maxBatch   = 32 << 10
	maxBacklog = 8 << 20
	flushLimit = 2 * time.Second
)

type pipe struct {
	mu   sync.Mutex
	full chan struct{} // nil while there is room
	text []byte
}

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	full := p.full
	p.mu.Unlock()
	if full != nil {
		<-full
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = append(p.text, b...)
	return len(b), nil
}

// fill blocks writers until the returned function is called.
func (p *pipe) fill() (drain func()) {
	full := make(chan struct{})
	p.mu.Lock()
	p.full = full
	p.mu.Unlock()
	return func() {
		p.mu.Lock()
		p.full = nil
		p.mu.Unlock()
		close(full)
	}
}

func (p *pipe) lines() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.SplitAfter(strings.TrimSuffix(string(p.text), "\n"), "\n")
}

func TestRequestLinesAreBatched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &pipe{}
		writer := server.NewLogWriter(out, server.JSONLog)
		log := slog.New(server.JSONLog(writer))
		request := func(text string) {
			_, err := io.WriteString(writer.Batched(), text+"\n")
			check(t, err)
		}
		time.Sleep(batchDelay)
		synctest.Wait()
		request("200")
		request("201")
		if got := out.lines(); got[0] != "" {
			t.Error("a request was written alone")
		}
		log.Warn("something else")
		if got := out.lines(); len(got) != 3 || !strings.HasSuffix(got[2], "something else\"}") {
			t.Errorf("written %q, want everything, in order", got)
		}
		request("200")
		time.Sleep(batchDelay)
		if len(out.lines()) != 4 {
			t.Error("a request was not written in time")
		}
		for range maxBatch / 100 {
			request(strings.Repeat("x", 100))
		}
		if len(out.lines()) <= 4 {
			t.Error("more than a batch was held back")
		}
		writer.Close()
		if len(out.lines()) != 4+maxBatch/100 {
			t.Errorf("%d lines at the end", len(out.lines()))
		}
	})
}

// While nobody reads the log, logging does not block, and a bounded backlog is kept.
// When it is read again, the backlog comes in order, then the number of lines lost.
// Closing waits for a bounded time.
func TestUnreadLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &pipe{}
		drain := out.fill()
		writer := server.NewLogWriter(out, server.JSONLog)
		log := slog.New(server.JSONLog(writer))
		began := time.Now()
		const many, size = 200, 100_000
		for i := range many {
			log.Warn("line", slog.Int("n", i), slog.String("text", strings.Repeat("x", size)))
			synctest.Wait()
		}
		dropped := writer.Dropped()
		if dropped < many-maxBacklog/size-1 || dropped == many || !time.Now().Equal(began) {
			t.Errorf("%d of %d lines dropped after %s", dropped, many, time.Since(began))
		}
		drain()
		got := out.lines()
		for i, line := range got[:len(got)-1] {
			if want := fmt.Sprintf(`"n":%d,`, i); !strings.Contains(line, want) {
				t.Fatalf("line %d is %.80s", i, line)
			}
		}
		want := fmt.Sprintf(`"msg":"log lines were dropped: nobody read the log, or it could not be written","lines":%d}`, dropped)
		if last := got[len(got)-1]; int64(len(got)-1) != many-dropped || !strings.HasSuffix(last, want) {
			t.Errorf("%d lines, the last is %.200s", len(got), last)
		}
		drain = out.fill()
		log.Warn("never read")
		writer.Close()
		if took := time.Since(began); took != flushLimit {
			t.Errorf("closing took %s", took)
		}
		drain()
	})
}

// Lines that cannot be written are counted as dropped.
func TestClosedLog(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	check(t, in.Close())
	writer := server.NewLogWriter(out, server.JSONLog)
	log := slog.New(server.JSONLog(writer))
	log.Warn("one")
	log.Warn("another")
	writer.Close()
	if n := writer.Dropped(); n != 2 {
		t.Errorf("%d lines dropped, want 2", n)
	}
}

// disk is a log file on a disk with some room.
type disk struct {
	mu   sync.Mutex
	room int
	text []byte
}

func (d *disk) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(d.room, len(b))
	d.room -= n
	d.text = append(d.text, b[:n]...)
	if n < len(b) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// set sets the room in bytes.
func (d *disk) set(room int) {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = room
}

// On a full disk a line is cut off. Once there is room the next line does not continue it, and the number of lines
// lost is logged.
func TestLogOnAFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const cut, room, noRoom = 12, 1 << 20, 0
		out := &disk{room: cut}
		writer := server.NewLogWriter(out, server.JSONLog)
		write := func(lines string) {
			t.Helper()
			for line := range strings.Lines(lines) {
				_, err := io.WriteString(writer.Batched(), line)
				check(t, err)
			}
			time.Sleep(batchDelay)
			synctest.Wait()
		}
		write("complete\nincomplete\nmissing\n")
		write("also missing\n")
		out.set(len("\n") + len("whole\n") + cut) // the report is incomplete
		write("whole\n")
		out.set(noRoom)
		write("missing again\n")
		out.set(room)
		write("last\n")
		writer.Close()
		const lost = 4
		got := strings.SplitAfter(string(out.text), "\n")
		if len(got) != 7 { //nolint:mnd // as many as want
			t.Fatalf("%q", got)
		}
		want := []string{"complete\n", "inc\n", "whole\n", got[3], "last\n", got[5], ""}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if len(got[3]) != cut+1 || !strings.HasSuffix(got[5], fmt.Sprintf("\"lines\":%d}\n", lost)) || writer.Dropped() != lost {
			t.Errorf("%q, %q, %d lines dropped; want %d", got[3], got[5], writer.Dropped(), lost)
		}
	})
}
