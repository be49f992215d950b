package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progressEvery is the time between two lines of a long audit's progress.
const progressEvery = 5 * time.Second

// auditProgress prints an audit's progress, even while the database sorts and returns no
// rows. A short audit prints nothing.
type auditProgress struct {
	w    io.Writer
	done chan struct{}
	wait sync.WaitGroup

	mu   sync.Mutex
	what string
	rows int64
}

func newAuditProgress(w io.Writer) *auditProgress {
	p := &auditProgress{w: w, done: make(chan struct{})}
	p.wait.Go(p.run)
	return p
}

func (p *auditProgress) read(what string, rows int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.rows = what, rows
}

func (p *auditProgress) run() {
	began := time.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-tick.C:
			p.mu.Lock()
			fmt.Fprintf(p.w, "%s: %s: %d rows\n", time.Since(began).Round(time.Second), p.what, p.rows)
			p.mu.Unlock()
		}
	}
}

func (p *auditProgress) stop() {
	close(p.done)
	p.wait.Wait()
}
