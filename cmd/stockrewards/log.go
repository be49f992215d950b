package main

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// requestLog writes lines of a log, those of answered requests together: at most
// lateLines bytes of them, at most lateBy after the first. Everything else is written at once,
// behind what came before it.
type requestLog struct {
	out io.Writer

	mu    sync.Mutex
	late  bytes.Buffer
	timer *time.Timer // runs while there are late lines
}

const (
	lateBy    = 100 * time.Millisecond
	lateLines = 32 << 10
)

func newRequestLog(out io.Writer) *requestLog {
	l := &requestLog{out: out}
	l.timer = time.AfterFunc(lateBy, func() { _ = l.Flush() }) // a log that cannot be written has nobody to tell
	return l
}

// Write implements io.Writer; b is one line.
func (l *requestLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.late.Len() == 0 {
		l.timer.Reset(lateBy)
	}
	l.late.Write(b)
	if l.late.Len() >= lateLines || !bytes.Contains(b, []byte(`"msg":"request"`)) {
		return len(b), l.flush()
	}
	return len(b), nil
}

// Flush writes what is late.
func (l *requestLog) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flush()
}

func (l *requestLog) flush() error {
	_, err := l.out.Write(l.late.Bytes())
	l.late.Reset()
	return err
}
