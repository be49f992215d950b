package reader

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// bufferBytes is the size of a run's read or write buffer.
const bufferBytes = 64 << 10

// run is one sorted run of a sorter, at its first row.
type run struct {
	row    []byte
	memory *Sorter
	at     int // the next row in memory
	file   *bufio.Reader
}

func (r *run) next() (bool, error) {
	if s := r.memory; s != nil {
		if r.at == len(s.rows) {
			return false, nil
		}
		r.row = s.bytes[s.rows[r.at].from:s.rows[r.at].to]
		r.at++
		return true, nil
	}
	length, err := binary.ReadUvarint(r.file)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err == nil {
		r.row = slices.Grow(r.row[:0], int(length))[:length]
		_, err = io.ReadFull(r.file, r.row)
	}
	if err != nil {
		return false, fmt.Errorf("cannot read a temporary file: %w", err)
	}
	return true, nil
}

// heads is a heap of runs by their first row.
type heads []*run

func (h heads) Len() int { return len(h) }

func (h heads) Less(i, j int) bool { return bytes.Compare(h[i].row, h[j].row) < 0 }

func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is never called.
func (h *heads) Push(any) {}

func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// merged is a sorter's rows in order.
type merged struct {
	sorter *Sorter
	runs   heads
	row    []byte // the current row
	err    error
}

var _ Rows = (*merged)(nil)

func (m *merged) Next() bool {
	if m.err != nil || len(m.runs) == 0 {
		return false
	}
	first := m.runs[0]
	m.row = append(m.row[:0], first.row...)
	more, err := first.next()
	switch {
	case err != nil:
		m.err = err
		return false
	case more:
		heap.Fix(&m.runs, 0)
	default:
		heap.Pop(&m.runs)
	}
	return true
}

func (m *merged) Scan(dest ...any) (err error) {
	rest := m.row
	for _, d := range dest {
		switch v := d.(type) {
		case *string:
			if *v, rest, err = cutString(rest); err != nil {
				return err
			}
		case *integer:
			if len(rest) < 8 {
				return errCorrupt
			}
			*v = integer(int64(binary.BigEndian.Uint64(rest) ^ 1<<63))
			rest = rest[8:]
		default:
			return fmt.Errorf("cannot read a sorted column into a %T", d)
		}
	}
	return nil
}

func (m *merged) Err() error { return m.err }

func (m *merged) Close() error { return m.sorter.close() }
