package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progressEvery is how often a long audit tells how far it is.
const progressEvery = 5 * time.Second

// auditProgress tells how far an audit is, also while the database sorts and gives no
// rows. An audit that takes a moment says nothing.
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

// tell takes what is being read.
func (p *auditProgress) tell(what string, rows int64) {
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

// end stops the telling.
func (p *auditProgress) end() {
	close(p.done)
	p.wait.Wait()
}
