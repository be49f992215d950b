package server

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

// JSONLog formats a log as JSON lines, without most repetitions of failures.
func JSONLog(out io.Writer) slog.Handler { return withoutRepeats(slog.NewJSONHandler(out, nil)) }

// LogWriter writes log lines in the background, so that a slow or absent reader blocks
// nobody. When maxBacklog bytes wait, further lines are dropped and counted. It is safe
// for concurrent use. Lines that out refuses are dropped as well.
type LogWriter struct {
	out     io.Writer
	torn    bool         // the last line in out is incomplete
	note    bytes.Buffer // the line that notice has formatted
	notice  *slog.Logger
	wake    chan struct{}
	dropped atomic.Int64 // lines, since the start

	mu      sync.Mutex
	backlog []byte
	lost    int64           // lines dropped that no line in out reports yet
	flushed []chan struct{} // closed when the backlog is written
	timer   *time.Timer     // flushes batched lines
	closed  bool
}

// The limits of a LogWriter.
const (
	batchDelay = 100 * time.Millisecond
	maxBatch   = 32 << 10 // bytes
	maxBacklog = 8 << 20  // bytes
	maxSpare   = 1 << 20  // bytes of a buffer that is reused
	flushLimit = 2 * time.Second
)

// NewLogWriter creates a LogWriter that writes to out, and formats its own lines with
// handler. A closed out does not end the process: lines are lost.
func NewLogWriter(out io.Writer, handler func(io.Writer) slog.Handler) *LogWriter {
	if out == os.Stderr {
		signal.Ignore(syscall.SIGPIPE)
	}
	l := &LogWriter{out: out, wake: make(chan struct{}, 1)}
	l.notice = slog.New(handler(&l.note))
	l.timer = time.AfterFunc(batchDelay, l.flush)
	go l.run()
	return l
}

// Write implements io.Writer; b is one line. It never fails and never blocks.
func (l *LogWriter) Write(b []byte) (int, error) {
	l.append(b)
	l.flush()
	return len(b), nil
}

// Batched returns a writer to l whose lines wait for others: at most batchDelay, and only
// while fewer than maxBatch bytes wait.
func (l *LogWriter) Batched() io.Writer { return batched{l} }

type batched struct{ *LogWriter }

func (l batched) Write(b []byte) (int, error) {
	if l.append(b) >= maxBatch {
		l.flush()
	}
	return len(b), nil
}

// append adds a line to the backlog, or drops it, and returns the backlog's size.
func (l *LogWriter) append(b []byte) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.backlog)+len(b) > maxBacklog {
		l.lost++
		l.dropped.Add(1)
		return len(l.backlog)
	}
	if len(l.backlog) == 0 {
		l.timer.Reset(batchDelay)
	}
	l.backlog = append(l.backlog, b...)
	return len(l.backlog)
}

// Dropped is how many lines were dropped since the start.
func (l *LogWriter) Dropped() int64 { return l.dropped.Load() }

// Close writes the backlog, for at most flushLimit, and ends the writer.
func (l *LogWriter) Close() {
	flushed := make(chan struct{})
	l.mu.Lock()
	l.closed = true
	l.flushed = append(l.flushed, flushed)
	l.mu.Unlock()
	l.timer.Stop()
	l.flush()
	select {
	case <-flushed:
	case <-time.After(flushLimit):
	}
}

func (l *LogWriter) flush() {
	select {
	case l.wake <- struct{}{}:
	default: // it is about to wake
	}
}

func (l *LogWriter) run() {
	var spare []byte
	for range l.wake {
		l.mu.Lock()
		lines, lost, flushed, closed := l.backlog, l.lost, l.flushed, l.closed
		l.backlog, l.lost, l.flushed = spare[:0], 0, nil
		l.mu.Unlock()
		failed := l.emit(lines)
		l.dropped.Add(failed)
		if lost += failed; lost > 0 && (failed > 0 || !l.report(lost)) {
			l.mu.Lock()
			l.lost += lost
			l.mu.Unlock()
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

// emit writes lines to out, and returns how many of them are not whole in it. It first ends a line that is torn.
func (l *LogWriter) emit(lines []byte) (lost int64) {
	end := []byte("\n")
	if l.torn {
		if _, err := l.out.Write(end); err != nil {
			return int64(bytes.Count(lines, end))
		}
	}
	n, err := l.out.Write(lines)
	l.torn = err != nil && n > 0 && !bytes.HasSuffix(lines[:n], end)
	if err != nil {
		lost = int64(bytes.Count(lines[n:], end))
	}
	return lost
}

// report writes how many lines were lost, and reports whether that succeeded.
func (l *LogWriter) report(lost int64) bool {
	l.note.Reset()
	l.notice.LogAttrs(context.Background(), slog.LevelWarn, //nolint:forbidigo // a writer has none
		"log lines were dropped: nobody read the log, or it could not be written", slog.Int64("lines", lost))
	return l.emit(l.note.Bytes()) == 0
}
