package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// logWriter writes the lines of a log in the background, so that nothing waits for
// whoever reads the log. Lines of answered requests are written together: at most
// maxBatch bytes of them, at most maxDelay after the first. Everything else is written
// as soon as the reader takes it, behind what came before it. When more than maxLog
// bytes wait, further lines are dropped and counted. It is safe for concurrent use.
type logWriter struct {
	out     io.Writer
	notice  *slog.Logger // writes to out, at once
	wake    chan struct{}
	dropped atomic.Int64 // ever

	mu      sync.Mutex
	waiting []byte
	lost    int64           // lines dropped since waiting was last taken
	flushed []chan struct{} // closed when what waits now is written
	timer   *time.Timer     // runs while lines of requests wait
	closed  bool
}

// The limits of the log.
const (
	maxDelay   = 100 * time.Millisecond
	maxBatch   = 32 << 10        // bytes
	maxLog     = 8 << 20         // bytes that wait
	maxSpare   = 1 << 20         // bytes of a buffer that is used again
	flushLimit = 2 * time.Second // how long Close waits for the reader
)

// newLogWriter starts writing to out. The handler makes the lines that the writer logs
// itself. A log whose reader has gone is no reason to end: its lines are lost.
func newLogWriter(out io.Writer, handler func(io.Writer) slog.Handler) *logWriter {
	if out == os.Stderr {
		signal.Ignore(syscall.SIGPIPE)
	}
	l := &logWriter{out: out, notice: slog.New(handler(out)), wake: make(chan struct{}, 1)}
	l.timer = time.AfterFunc(maxDelay, l.hurry)
	go l.run()
	return l
}

// Write implements io.Writer: it appends b, which is one line, and has it written at
// once. It never fails and never blocks.
func (l *logWriter) Write(b []byte) (int, error) {
	l.append(b)
	l.hurry()
	return len(b), nil
}

// batched is a logWriter whose lines may wait for others.
type batched struct{ *logWriter }

// Write implements io.Writer as logWriter does, except that the line may wait.
func (l batched) Write(b []byte) (int, error) {
	if l.append(b) >= maxBatch {
		l.hurry()
	}
	return len(b), nil
}

// append adds a line and returns how many bytes wait, or drops it.
func (l *logWriter) append(b []byte) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.waiting)+len(b) > maxLog {
		l.lost++
		l.dropped.Add(1)
		return len(l.waiting)
	}
	if len(l.waiting) == 0 {
		l.timer.Reset(maxDelay)
	}
	l.waiting = append(l.waiting, b...)
	return len(l.waiting)
}

// Dropped is how many lines were ever dropped.
func (l *logWriter) Dropped() int64 { return l.dropped.Load() }

// Close writes what waits, for at most flushLimit, and ends the writer.
func (l *logWriter) Close() {
	flushed := make(chan struct{})
	l.mu.Lock()
	l.closed = true
	l.flushed = append(l.flushed, flushed)
	l.mu.Unlock()
	l.timer.Stop()
	l.hurry()
	select {
	case <-flushed:
	case <-time.After(flushLimit):
	}
}

// hurry has what waits written at once.
func (l *logWriter) hurry() {
	select {
	case l.wake <- struct{}{}:
	default: // it is going to be
	}
}

// run writes until the log is closed.
func (l *logWriter) run() {
	var spare []byte
	for range l.wake {
		l.mu.Lock()
		lines, lost, flushed, closed := l.waiting, l.lost, l.flushed, l.closed
		l.waiting, l.lost, l.flushed = spare[:0], 0, nil
		l.mu.Unlock()
		if _, err := l.out.Write(lines); err != nil { // the reader has gone
			l.dropped.Add(int64(bytes.Count(lines, []byte("\n"))))
		}
		if lost > 0 {
			l.notice.LogAttrs(context.Background(), slog.LevelWarn,
				"log lines were dropped: nobody read the log", slog.Int64("lines", lost))
		}
		for _, done := range flushed {
			close(done)
		}
		if spare = lines; cap(spare) > maxSpare {
			spare = nil
		}
		if closed {
			return
		}
	}
}
