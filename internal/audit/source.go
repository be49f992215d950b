package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Queryer reads the books. All queries see one snapshot; several are read at once,
// a row of one and a row of another. Queries are plain SQL without parameters,
// whose ORDER BY sorts bytes as bytes.Compare does. What grows with every reward is
// read in whatever order is quickest, and sorted here: see sorter.go.
type Queryer interface {
	Query(ctx context.Context, query string) (Rows, error)
}

// Rows is the answer to a query, as *sql.Rows is.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close() error
}

// key is what streams are merged by: app and id, or the id alone.
type key [2]string

func (k key) compare(other key) int {
	if c := strings.Compare(k[0], other[0]); c != 0 {
		return c
	}
	return strings.Compare(k[1], other[1])
}

// integer reads a number as it is: anything else is an error and not converted. It
// also spares database/sql its reflection.
type integer int64

// Scan implements sql.Scanner.
func (n *integer) Scan(value any) error {
	stored, ok := value.(int64)
	if !ok {
		return fmt.Errorf("a number expected, got %T", value)
	}
	*n = integer(stored)
	return nil
}

// stream says how to read rows in the order of a key.
type stream[R any] struct {
	what  string         // for people
	query string         // in the order of the key, unless it is sorted here
	sort  bool           // its rows come in any order; the columns begin with those of the key
	bind  func(*R) []any // where the columns go
	key   func(*R) key
}

// cursor reads a stream, one row ahead.
type cursor[R any] struct {
	stream[R]
	a    *auditor
	rows Rows
	row  R // the row under the cursor
	has  bool
	dest []any
	last key
	read int64
}

// open starts to read a stream; it is closed at the end of the pass.
func open[R any](ctx context.Context, a *auditor, s stream[R]) (*cursor[R], error) {
	if err := a.tell(s.what, 0); err != nil {
		return nil, err
	}
	rows, err := a.q.Query(ctx, s.query)
	if err != nil {
		return nil, fmt.Errorf("audit: read %s: %w", s.what, err)
	}
	if !s.sort {
		return follow(a, s, rows)
	}
	gathered := a.newSorter()
	if err := gather(a, s, rows, gathered); err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	if err := rows.Close(); err != nil {
		return nil, fmt.Errorf("audit: read %s: %w", s.what, err)
	}
	return reopen(a, s, gathered)
}

// gather puts all rows of a stream into a sorter.
func gather[R any](a *auditor, s stream[R], rows Rows, into *sorter) error {
	c := newCursor(a, s, rows)
	for {
		if more, err := c.next(); err != nil || !more {
			return err
		}
		if err := into.add(c.dest); err != nil {
			return err
		}
	}
}

// reopen reads what a sorter was given as a stream.
func reopen[R any](a *auditor, s stream[R], given *sorter) (*cursor[R], error) {
	rows, err := given.sorted()
	if err != nil {
		return nil, err
	}
	return follow(a, s, rows)
}

// follow begins to read rows.
func follow[R any](a *auditor, s stream[R], rows Rows) (*cursor[R], error) {
	a.reading = append(a.reading, rows)
	c := newCursor(a, s, rows)
	err := c.advance()
	return c, err
}

func newCursor[R any](a *auditor, s stream[R], rows Rows) *cursor[R] {
	c := &cursor[R]{stream: s, a: a, rows: rows}
	c.dest = s.bind(&c.row)
	for i, dest := range c.dest {
		if n, ok := dest.(*int64); ok {
			c.dest[i] = (*integer)(n)
		}
	}
	return c
}

// closeAll ends the reading of a pass.
func (a *auditor) closeAll() error {
	var errs []error
	for _, rows := range a.reading {
		errs = append(errs, rows.Close())
	}
	a.reading = a.reading[:0]
	return errors.Join(errs...)
}

// next reads the next row, if there is one.
func (c *cursor[R]) next() (bool, error) {
	if !c.rows.Next() {
		if err := c.rows.Err(); err != nil {
			return false, fmt.Errorf("audit: read %s: %w", c.what, err)
		}
		return false, nil
	}
	if err := c.rows.Scan(c.dest...); err != nil {
		return false, fmt.Errorf("audit: read %s: %w", c.what, err)
	}
	c.read++
	const often = 1 << 14
	if c.read%often != 0 {
		return true, nil
	}
	return true, c.a.tell(c.what, c.read)
}

// advance goes to the next row.
func (c *cursor[R]) advance() (err error) {
	if c.has, err = c.next(); err != nil || !c.has {
		return err
	}
	k := c.key(&c.row)
	if k.compare(c.last) < 0 {
		return fmt.Errorf("audit: read %s: its rows are not in the order of the bytes of their keys", c.what)
	}
	c.last = k
	return nil
}

// each reads all rows. The row is valid during the call.
func (c *cursor[R]) each(f func(*R) error) error {
	for c.has {
		if err := f(&c.row); err != nil {
			return err
		}
		if err := c.advance(); err != nil {
			return err
		}
	}
	return nil
}

// claim is one step of a merge join: the rows of the owner k go to own, and those
// before, which have no owner, go to stray.
func (c *cursor[R]) claim(k key, own, stray func(*R)) error {
	for c.has {
		order := c.last.compare(k)
		switch {
		case order > 0:
			return nil
		case order < 0:
			stray(&c.row)
		default:
			own(&c.row)
		}
		if err := c.advance(); err != nil {
			return err
		}
	}
	return nil
}

// rest ends a merge join: the rows that are left have no owner.
func (c *cursor[R]) rest(stray func(*R)) error {
	return c.each(func(row *R) error {
		stray(row)
		return nil
	})
}

// readAll reads the rows of a stream one by one.
func readAll[R any](ctx context.Context, a *auditor, s stream[R], f func(*R)) error {
	c, err := open(ctx, a, s)
	if err != nil {
		return err
	}
	return c.rest(f)
}
