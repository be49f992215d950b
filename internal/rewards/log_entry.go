package rewards

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// LogEntry is an entry of the operator log: one change that an operator made. Each
// carries the hash of the one before, so that none can be changed, put in or taken
// out without changing all that follow.
type LogEntry struct {
	Number int64 // from 1 on, without a gap
	At     time.Time
	Operator
	Object        string
	Before, After string // states as they are kept
	Previous      LogHash
	Hash          LogHash
}

// LogHash is the hash of a deed: a version and a SHA-256. It is zero for the deed
// before the first.
type LogHash [1 + sha256.Size]byte

const deedHashVersion = 1

// String is the hash in hexadecimal digits.
func (h LogHash) String() string { return hex.EncodeToString(h[:]) }

// LogHead is the newest deed of an operator log. Kept outside of the books it proves
// later that no deed up to it was changed.
type LogHead struct {
	Number int64 // zero: there is no deed
	Hash   LogHash
}

// String is the head as it is printed and kept: NUMBER:HASH.
func (h LogHead) String() string { return strconv.FormatInt(h.Number, 10) + ":" + h.Hash.String() }

// ErrLogHead says that a text isn't a head as it is printed.
var ErrLogHead = errors.New("must be NUMBER:HASH, as `stockrewards log verify` prints it")

// ParseLogHead reads a head as it is printed. It fails with ErrLogHead.
func ParseLogHead(text string) (h LogHead, err error) {
	number, hash, _ := strings.Cut(text, ":")
	if h.Number, err = strconv.ParseInt(number, 10, 64); err != nil || h.Number < 1 {
		return LogHead{}, ErrLogHead
	}
	if digits, err := hex.DecodeString(hash); err != nil || copy(h.Hash[:], digits) != len(h.Hash) ||
		len(digits) != len(h.Hash) {
		return LogHead{}, ErrLogHead
	}
	return h, nil
}

// NextLogEntry is the deed that follows a head: the operator's change at a moment, which
// is kept to the microsecond.
func NextLogEntry(head LogHead, at time.Time, by Operator, c Change) LogEntry {
	d := LogEntry{
		Number: head.Number + 1, At: at.UTC().Truncate(time.Microsecond), Operator: by,
		Object: c.Object, Before: c.Before.String(), After: c.After.String(), Previous: head.Hash,
	}
	d.Hash = d.hash()
	return d
}

// Head is the head of a log whose newest deed it is.
func (d LogEntry) Head() LogHead { return LogHead{d.Number, d.Hash} }

// hash computes the hash over the previous one, the number, the time and the texts
// with their lengths.
func (d LogEntry) hash() LogHash {
	b := append([]byte{deedHashVersion}, d.Previous[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(d.Number))
	b = binary.BigEndian.AppendUint64(b, uint64(d.At.UnixMicro()))
	for _, text := range []string{d.Actor, d.Command, d.Object, d.Before, d.After, d.Reason} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
		b = append(b, text...)
	}
	sum := sha256.Sum256(b)
	h := LogHash{deedHashVersion}
	copy(h[1:], sum[:])
	return h
}

// Follows fails when the deed isn't the next one after a head, and says why.
func (d LogEntry) Follows(head LogHead) error {
	switch {
	case d.Number != head.Number+1:
		return fmt.Errorf("deed %d follows deed %d: those between are missing", d.Number, head.Number)
	case d.Previous != head.Hash:
		return fmt.Errorf("deed %d does not carry the hash of the deed before it", d.Number)
	case d.Hash != d.hash():
		return fmt.Errorf("deed %d was changed: its hash is not that of its content", d.Number)
	}
	return nil
}

// Changed lists the fields that the deed changed, for people: `suspended: no -> yes`.
// The hash of a key is left out: it is of use to the audit alone.
func (d LogEntry) Changed() string {
	before, errBefore := ParseState(d.Before)
	after, errAfter := ParseState(d.After)
	if errBefore != nil || errAfter != nil {
		return d.Before + " -> " + d.After
	}
	var parts []string
	for _, f := range after {
		old := before.Value(f.Name)
		switch {
		case old == f.Value || f.Name == fieldHash:
		case f.Value == "":
			parts = append(parts, f.Name+": "+old+" -> -")
		case old == "":
			parts = append(parts, f.Name+": "+f.Value)
		default:
			parts = append(parts, f.Name+": "+old+" -> "+f.Value)
		}
	}
	return strings.Join(parts, ", ")
}
