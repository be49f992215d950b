package reader

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

// Sorter sorts rows by their columns. Rows beyond its memory go to a temporary file (in
// TMPDIR, unlinked) in sorted runs, which are merged.
type Sorter struct {
	limit int // bytes in memory
	bytes []byte
	rows  []span
	file  *os.File // nil while all rows are in memory
	runs  []span
}

// span is a range of bytes.
type span struct{ from, to int }

// Add adds a row. Its columns are *string, *int64 or *integer.
func (s *Sorter) Add(columns []any) error {
	from := len(s.bytes)
	for _, c := range columns {
		switch v := c.(type) {
		case *string:
			s.bytes = appendString(s.bytes, *v)
		case *int64:
			s.bytes = appendNumber(s.bytes, *v)
		case *integer:
			s.bytes = appendNumber(s.bytes, int64(*v))
		default:
			return fmt.Errorf("cannot sort a column of type %T", c)
		}
	}
	s.rows = append(s.rows, span{from, len(s.bytes)})
	if len(s.bytes) < s.limit {
		return nil
	}
	return s.spill()
}

// The bytes after a zero byte. The end of a string sorts before any continuation.
const (
	endOfString = 0x01
	zeroByte    = 0xff
)

// appendString encodes a string so that comparing the encoded bytes compares the strings,
// regardless of what follows.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		b = append(b, s[i])
		if s[i] == 0 {
			b = append(b, zeroByte)
		}
	}
	return append(b, 0, endOfString)
}

// appendNumber encodes a number; flipping the sign bit sorts negative numbers first.
func appendNumber(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(n)^1<<63)
}

var errCorrupt = errors.New("cannot read a sorted row: it is corrupt")

// cutString decodes what appendString wrote and returns the bytes after it.
func cutString(b []byte) (s string, rest []byte, err error) {
	var parts []byte
	for {
		i := bytes.IndexByte(b, 0)
		if i < 0 || i+1 == len(b) {
			return "", nil, errCorrupt
		}
		if b[i+1] == endOfString {
			return string(append(parts, b[:i]...)), b[i+2:], nil
		}
		parts = append(parts, b[:i+1]...)
		b = b[i+2:]
	}
}

// sort sorts the rows in memory.
func (s *Sorter) sort() {
	slices.SortFunc(s.rows, func(a, b span) int {
		return bytes.Compare(s.bytes[a.from:a.to], s.bytes[b.from:b.to])
	})
}

// spill moves the rows in memory to the file, as another run.
func (s *Sorter) spill() (err error) {
	if len(s.rows) == 0 {
		return nil
	}
	if s.file == nil {
		if s.file, err = unlinkedFile(); err != nil {
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
		length = binary.AppendUvarint(length[:0], uint64(r.to-r.from))
		_, err := w.Write(length)
		if err == nil {
			_, err = w.Write(s.bytes[r.from:r.to])
		}
		if err != nil {
			return fmt.Errorf("cannot write a temporary file: %w", err)
		}
		to += len(length) + r.to - r.from
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("cannot write a temporary file: %w", err)
	}
	s.runs = append(s.runs, span{from, to})
	s.bytes, s.rows = s.bytes[:0], s.rows[:0]
	return nil
}

// unlinkedFile creates a file that disappears when it is closed, also after a kill.
func unlinkedFile() (*os.File, error) {
	f, err := os.CreateTemp("", "stockrewards-audit-")
	if err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil {
		return nil, fmt.Errorf("cannot create a temporary file (set TMPDIR to choose its folder): %w", err)
	}
	return f, nil
}

// close frees the memory and the file.
func (s *Sorter) close() error {
	s.bytes, s.rows, s.runs = nil, nil, nil
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// sorted returns the rows in order; they can be read once. Nothing can be added after it.
func (s *Sorter) sorted() (Rows, error) {
	var runs []*run
	if s.file == nil {
		s.sort()
		runs = append(runs, &run{memory: s})
	} else {
		if err := s.spill(); err != nil {
			return nil, err
		}
		s.bytes, s.rows = nil, nil
	}
	for _, r := range s.runs {
		part := io.NewSectionReader(s.file, int64(r.from), int64(r.to-r.from))
		runs = append(runs, &run{file: bufio.NewReaderSize(part, bufferBytes)})
	}
	m := &merged{sorter: s}
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
