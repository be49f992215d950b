package audit

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// runBytes is how much a sorter keeps in memory. What is more goes to a file, in
// sorted runs, so that any number of rows is sorted by reading from end to end.
const runBytes = 16 << 20

// sorter puts rows into the order of their columns, the first one first. Its file is
// in the folder for temporary files (TMPDIR), for its owner only, and has no name.
type sorter struct {
	limit int // of the bytes in memory
	bytes []byte
	rows  []span
	file  *os.File // nil while all is in memory
	runs  []span
}

// span is where something is, in bytes.
type span struct{ from, to int }

// newSorter makes a sorter that is closed at the end of the audit at the latest.
func (a *auditor) newSorter() *sorter {
	s := &sorter{limit: a.options.sortBytes()}
	a.sorters = append(a.sorters, s)
	return s
}

// add takes one row: its columns are *string, *int64 or *integer.
func (s *sorter) add(columns []any) error {
	from := len(s.bytes)
	for _, c := range columns {
		switch v := c.(type) {
		case *string:
			s.bytes = appendSortable(s.bytes, *v)
		case *int64:
			s.bytes = appendSortableNumber(s.bytes, *v)
		case *integer:
			s.bytes = appendSortableNumber(s.bytes, int64(*v))
		default:
			return fmt.Errorf("audit: a column that is a %T cannot be sorted", c)
		}
	}
	s.rows = append(s.rows, span{from, len(s.bytes)})
	if len(s.bytes) < s.limit {
		return nil
	}
	return s.spill()
}

// The marks behind a zero byte in a sortable text: its end comes before what goes on.
const (
	endOfText = 0x01
	zeroByte  = 0xff
)

// appendSortable writes a text so that bytes.Compare of what is written is that of
// the texts, whatever follows.
func appendSortable(b []byte, text string) []byte {
	for i := range len(text) {
		b = append(b, text[i])
		if text[i] == 0 {
			b = append(b, zeroByte)
		}
	}
	return append(b, 0, endOfText)
}

func appendSortableNumber(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(b, unsigned(n)^1<<63)
}

var errSorted = errors.New("audit: a sorted row is not as it was written")

// cutSortable reads a text that appendSortable wrote, and tells what follows.
func cutSortable(b []byte) (text string, rest []byte, err error) {
	var parts []byte
	for {
		i := bytes.IndexByte(b, 0)
		if i < 0 || i+1 == len(b) {
			return "", nil, errSorted
		}
		if b[i+1] == endOfText {
			return string(append(parts, b[:i]...)), b[i+2:], nil
		}
		parts = append(parts, b[:i+1]...)
		b = b[i+2:]
	}
}

// sort puts what is in memory into order.
func (s *sorter) sort() {
	slices.SortFunc(s.rows, func(a, b span) int {
		return bytes.Compare(s.bytes[a.from:a.to], s.bytes[b.from:b.to])
	})
}

// spill writes what is in memory to the file, as one more run.
func (s *sorter) spill() (err error) {
	if len(s.rows) == 0 {
		return nil
	}
	if s.file == nil {
		if s.file, err = unnamedFile(); err != nil {
			return err
		}
	}
	s.sort()
	from := 0
	if len(s.runs) > 0 {
		from = s.runs[len(s.runs)-1].to
	}
	w, to, length := bufio.NewWriterSize(s.file, bufferBytes), from, []byte(nil)
	for _, r := range s.rows {
		length = binary.AppendUvarint(length[:0], uint64(r.to-r.from)) // never negative
		_, err := w.Write(length)
		if err == nil {
			_, err = w.Write(s.bytes[r.from:r.to])
		}
		if err != nil {
			return fmt.Errorf("audit: write a temporary file: %w", err)
		}
		to += len(length) + r.to - r.from
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("audit: write a temporary file: %w", err)
	}
	s.runs = append(s.runs, span{from, to})
	s.bytes, s.rows = s.bytes[:0], s.rows[:0]
	return nil
}

// unnamedFile makes a file that is gone when it is closed, also by a kill.
func unnamedFile() (*os.File, error) {
	f, err := os.CreateTemp("", "stockrewards-audit-")
	if err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil {
		return nil, fmt.Errorf("audit: make a temporary file (TMPDIR says where): %w", err)
	}
	return f, nil
}

// close frees the memory and the file.
func (s *sorter) close() error {
	s.bytes, s.rows, s.runs = nil, nil, nil
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// sorted ends the adding; the rows can be read once, in their order.
func (s *sorter) sorted() (Rows, error) {
	m := &merged{sorter: s}
	if s.file == nil {
		s.sort()
		m.runs = append(m.runs, &run{memory: s})
	} else {
		if err := s.spill(); err != nil {
			return nil, err
		}
		s.bytes, s.rows = nil, nil
	}
	for _, r := range s.runs {
		part := io.NewSectionReader(s.file, int64(r.from), int64(r.to-r.from))
		m.runs = append(m.runs, &run{file: bufio.NewReaderSize(part, bufferBytes)})
	}
	runs := m.runs
	m.runs = m.runs[:0]
	for _, r := range runs {
		more, err := r.next()
		if err != nil {
			return nil, err
		}
		if more {
			m.runs = append(m.runs, r)
		}
	}
	heap.Init(&m.runs)
	return m, nil
}

// bufferBytes is what is read or written at a time, of a run.
const bufferBytes = 64 << 10

// run is one sorted part, under its first row.
type run struct {
	row    []byte
	memory *sorter
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
		r.row = slices.Grow(r.row[:0], int(length))[:length] // as it was written
		_, err = io.ReadFull(r.file, r.row)
	}
	if err != nil {
		return false, fmt.Errorf("audit: read a temporary file: %w", err)
	}
	return true, nil
}

// heads are runs by their first row: a heap.
type heads []*run

// Len implements heap.Interface.
func (h heads) Len() int { return len(h) }

// Less implements heap.Interface.
func (h heads) Less(i, j int) bool { return bytes.Compare(h[i].row, h[j].row) < 0 }

// Swap implements heap.Interface.
func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface; nothing is ever added.
func (h *heads) Push(any) {}

// Pop implements heap.Interface.
func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// merged are the rows of a sorter in their order.
type merged struct {
	sorter *sorter
	runs   heads
	row    []byte // the one under the cursor
	err    error
}

var _ Rows = (*merged)(nil)

// Next implements Rows.
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

// Scan implements Rows.
func (m *merged) Scan(dest ...any) (err error) {
	rest := m.row
	for _, d := range dest {
		switch v := d.(type) {
		case *string:
			if *v, rest, err = cutSortable(rest); err != nil {
				return err
			}
		case *integer:
			if len(rest) < 8 {
				return errSorted
			}
			*v = integer(signed(binary.BigEndian.Uint64(rest) ^ 1<<63))
			rest = rest[8:]
		default:
			return fmt.Errorf("audit: a sorted column into a %T", d)
		}
	}
	return nil
}

// Err implements Rows.
func (m *merged) Err() error { return m.err }

// Close implements Rows.
func (m *merged) Close() error { return m.sorter.close() }
