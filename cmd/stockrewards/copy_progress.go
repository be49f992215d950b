package main

import (
	"fmt"
	"io"
	"time"
)

// copyProgress prints a copy's progress every second, and at the end of each table.
type copyProgress struct {
	w       io.Writer
	table   string
	started time.Time // when the previous table ended
	printed time.Time
}

func newCopyProgress(w io.Writer) *copyProgress {
	now := time.Now()
	return &copyProgress{w: w, started: now, printed: now}
}

func (p *copyProgress) sent(table string, rows, total int64) {
	now := time.Now()
	if table != p.table {
		p.table, p.started = table, p.printed
	}
	if rows < total && now.Sub(p.printed) < time.Second {
		return
	}
	p.printed = now
	rate := rows
	if took := now.Sub(p.started); took > 0 {
		rate = int64(time.Duration(rows) * time.Second / max(took, time.Millisecond))
	}
	fmt.Fprintf(p.w, "%s: %d of %d rows, %d a second\n", table, rows, total, rate)
}
