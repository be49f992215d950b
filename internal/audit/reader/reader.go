// Package reader reads a store for an audit: plain SQL on one snapshot, by its own
// connections, with no code of the packages that write. It never writes.
//
// SQLite and Postgres implement Queryer. A Reader turns queries into streams in the order of
// a key, which an audit joins by merging, so that memory does not grow with the rewards.
package reader

import (
	"context"
	"errors"
)

// ErrSchema means that the database is not a store, or has another schema version.
var ErrSchema = errors.New("not a store that this version of stockrewards can audit")

// Queryer queries one snapshot of a store. Several queries may be read at the same time, row
// by row. A query is plain SQL without parameters; its ORDER BY compares bytes.
type Queryer interface {
	Query(ctx context.Context, query string) (Rows, error)
	// InSegments reports whether segments find rewards by their numbers, which are row ids. Otherwise rewards have the
	// number of their segment.
	InSegments() bool
}

// Rows is the result of a query; *sql.Rows implements it.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close() error
}

// Store is an open store. Close ends its snapshot.
type Store interface {
	Queryer
	Close() error
}

// Options configures a reader. The zero value is valid.
type Options struct {
	// Progress is called with what is read and the number of rows so far: when a reading
	// starts and then every few thousand rows, on the goroutine that reads.
	Progress func(what string, rows int64)
	// SortBytes limits the memory of each sorter; more goes to temporary files. At most six
	// are in use. Zero means 16 MiB.
	SortBytes int
}

// Reader reads streams from a store. It is for one goroutine.
type Reader struct {
	ctx     context.Context //nolint:containedctx // a reader lives as long as one audit
	q       Queryer
	options Options
	open    []Rows // since the last Done
	sorters []*Sorter
}

// New returns a reader that stops when ctx ends.
func New(ctx context.Context, q Queryer, o Options) *Reader {
	return &Reader{ctx: ctx, q: q, options: o}
}

// NewSorter returns a sorter, which Close closes.
func (r *Reader) NewSorter() *Sorter {
	s := &Sorter{limit: r.options.SortBytes}
	if s.limit <= 0 {
		s.limit = 16 << 20
	}
	r.sorters = append(r.sorters, s)
	return s
}

// Done closes the rows that were opened since the last call.
func (r *Reader) Done() error {
	var errs []error
	for _, rows := range r.open {
		errs = append(errs, rows.Close())
	}
	r.open = r.open[:0]
	return errors.Join(errs...)
}

// Close closes the rows and the sorters. It leaves the store open.
func (r *Reader) Close() error {
	errs := []error{r.Done()}
	for _, s := range r.sorters {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// progress reports progress and returns why the context ended.
func (r *Reader) progress(what string, rows int64) error {
	if r.options.Progress != nil {
		r.options.Progress(what, rows)
	}
	return context.Cause(r.ctx)
}
