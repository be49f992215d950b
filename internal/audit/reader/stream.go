package reader

import (
	"errors"
	"fmt"
	"strings"
)

// Key is what streams are merged by: app and id, or the id alone.
type Key [2]string

// Compare compares keys as bytes.
func (k Key) Compare(other Key) int {
	if c := strings.Compare(k[0], other[0]); c != 0 {
		return c
	}
	return strings.Compare(k[1], other[1])
}

// integer is the destination of a number. It rejects other types instead of converting them,
// and spares database/sql its reflection.
type integer int64

// Scan implements sql.Scanner.
func (n *integer) Scan(value any) error {
	stored, ok := value.(int64)
	if !ok {
		return fmt.Errorf("no number: %T", value)
	}
	*n = integer(stored)
	return nil
}

// Stream defines how rows are read.
type Stream[R any] struct {
	What  string         // for progress and errors
	Query string         // in the order of Key, unless Sort
	Sort  bool           // sort the rows here, by their columns; the first ones are those of Key
	Bind  func(*R) []any // the destinations of the columns: *string, *int64 or *bool
	Key   func(*R) Key   // nil: the rows have no order
}

// Cursor reads a stream, one row ahead.
type Cursor[R any] struct {
	Row R // the current row

	stream Stream[R]
	r      *Reader
	rows   Rows
	has    bool
	dest   []any
	last   Key
	read   int64
}

// Open starts reading a stream.
func Open[R any](r *Reader, s Stream[R]) (*Cursor[R], error) {
	if err := r.progress(s.What, 0); err != nil {
		return nil, err
	}
	rows, err := r.q.Query(r.ctx, s.Query)
	if err != nil {
		return nil, s.failed(err)
	}
	if !s.Sort {
		return first(r, s, rows)
	}
	sorter := r.NewSorter()
	if err := fill(r, s, rows, sorter); err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	if err := rows.Close(); err != nil {
		return nil, s.failed(err)
	}
	return OpenSorted(r, s, sorter)
}

// OpenSorted starts reading the rows of a sorter, which takes no more rows.
func OpenSorted[R any](r *Reader, s Stream[R], from *Sorter) (*Cursor[R], error) {
	rows, err := from.sorted()
	if err != nil {
		return nil, err
	}
	return first(r, s, rows)
}

// Each reads all rows of a stream. A row is valid during the call of f.
func Each[R any](r *Reader, s Stream[R], f func(*R)) error {
	c, err := Open(r, s)
	if err != nil {
		return err
	}
	return c.Rest(f)
}

func (s Stream[R]) failed(err error) error { return fmt.Errorf("cannot read %s: %w", s.What, err) }

// fill adds the rows of a stream to a sorter.
func fill[R any](r *Reader, s Stream[R], rows Rows, into *Sorter) error {
	c := newCursor(r, s, rows)
	for {
		if more, err := c.next(); err != nil || !more {
			return err
		}
		if err := into.Add(c.dest); err != nil {
			return err
		}
	}
}

// first returns a cursor at the first row.
func first[R any](r *Reader, s Stream[R], rows Rows) (*Cursor[R], error) {
	r.open = append(r.open, rows)
	c := newCursor(r, s, rows)
	err := c.advance()
	return c, err
}

func newCursor[R any](r *Reader, s Stream[R], rows Rows) *Cursor[R] {
	c := &Cursor[R]{stream: s, r: r, rows: rows}
	c.dest = s.Bind(&c.Row)
	for i, dest := range c.dest {
		if n, ok := dest.(*int64); ok {
			c.dest[i] = (*integer)(n)
		}
	}
	return c
}

// next reads the next row and reports whether there is one.
func (c *Cursor[R]) next() (bool, error) {
	if !c.rows.Next() {
		if err := c.rows.Err(); err != nil {
			return false, c.stream.failed(err)
		}
		return false, nil
	}
	if err := c.rows.Scan(c.dest...); err != nil {
		return false, c.stream.failed(err)
	}
	c.read++
	const often = 1 << 14
	if c.read%often != 0 {
		return true, nil
	}
	return true, c.r.progress(c.stream.What, c.read)
}

// advance moves to the next row and checks the order of the keys.
func (c *Cursor[R]) advance() (err error) {
	if c.has, err = c.next(); err != nil || !c.has || c.stream.Key == nil {
		return err
	}
	k := c.stream.Key(&c.Row)
	if k.Compare(c.last) < 0 {
		return fmt.Errorf("cannot read %s: its rows are not in the byte order of their keys", c.stream.What)
	}
	c.last = k
	return nil
}

// Each calls f for the current row and all after it. A row is valid during the call.
func (c *Cursor[R]) Each(f func(*R) error) error {
	for c.has {
		if err := f(&c.Row); err != nil {
			return err
		}
		if err := c.advance(); err != nil {
			return err
		}
	}
	return nil
}

// Claim is one step of a merge join: it calls own for the rows of the owner k, and stray for
// the rows before them, which have no owner.
func (c *Cursor[R]) Claim(k Key, own, stray func(*R)) error {
	for c.has {
		order := c.last.Compare(k)
		switch {
		case order > 0:
			return nil
		case order < 0:
			stray(&c.Row)
		default:
			own(&c.Row)
		}
		if err := c.advance(); err != nil {
			return err
		}
	}
	return nil
}

// Rest ends a merge join: it calls stray for the remaining rows, which have no owner.
func (c *Cursor[R]) Rest(stray func(*R)) error {
	return c.Each(func(row *R) error {
		stray(row)
		return nil
	})
}
