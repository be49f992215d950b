package main

import (
	"fmt"
	"io"
	"time"
)

// progress tells how far a copy is: once a second, and at the end of each table.
type progress struct {
	w       io.Writer
	table   string
	started time.Time // of the table: when the one before had ended
	told    time.Time
}

func newProgress(w io.Writer) *progress {
	now := time.Now()
	return &progress{w: w, started: now, told: now}
}

// tell takes what was sent of a table.
func (p *progress) tell(table string, rows, total int64) {
	now := time.Now()
	if table != p.table {
		p.table, p.started = table, p.told
	}
	if rows < total && now.Sub(p.told) < time.Second {
		return
	}
	p.told = now
	rate := rows
	if took := now.Sub(p.started); took > 0 {
		rate = int64(time.Duration(rows) * time.Second / max(took, time.Millisecond))
	}
	fmt.Fprintf(p.w, "%s: %d of %d rows, %d a second\n", table, rows, total, rate)
}
