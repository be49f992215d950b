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

// LogEntry is an entry of the operator log: one change that an operator made. Each entry
// carries the hash of the previous one, so that none can be changed, inserted or removed
// without changing all later ones.
type LogEntry struct {
	Number int64 // from 1, without gaps
	At     time.Time
	Operator
	Object        string
	Before, After string // stored states
	Previous      LogHash
	Hash          LogHash
}

// LogHash is the hash of a log entry: a version and a SHA-256. The first entry's previous
// hash is zero.
type LogHash [1 + sha256.Size]byte

const logHashVersion = 1

// String returns the hash in hexadecimal digits.
func (h LogHash) String() string { return hex.EncodeToString(h[:]) }

// LogHead identifies the newest entry of an operator log. A copy kept outside the store
// proves later that no entry up to it was changed.
type LogHead struct {
	Number int64 // zero: the log is empty
	Hash   LogHash
}

// String returns the head as it is printed and stored: NUMBER:HASH.
func (h LogHead) String() string { return strconv.FormatInt(h.Number, 10) + ":" + h.Hash.String() }

// errLogHead reports a string that is not a printed head.
var errLogHead = errors.New("must be NUMBER:HASH, as `stockrewards log verify` prints it")

// ParseLogHead reads a printed head. Any other string is an error.
func ParseLogHead(text string) (h LogHead, err error) {
	number, hash, _ := strings.Cut(text, ":")
	if h.Number, err = strconv.ParseInt(number, 10, 64); err != nil || h.Number < 1 {
		return LogHead{}, errLogHead
	}
	if digits, err := hex.DecodeString(hash); err != nil || copy(h.Hash[:], digits) != len(h.Hash) ||
		len(digits) != len(h.Hash) {
		return LogHead{}, errLogHead
	}
	return h, nil
}

// NextLogEntry returns the entry after head for the operator's change at the time at, to the
// microsecond.
func NextLogEntry(head LogHead, at time.Time, by Operator, c Change) LogEntry {
	d := LogEntry{
		Number: head.Number + 1, At: at.UTC().Truncate(time.Microsecond), Operator: by,
		Object: c.Object, Before: c.Before.String(), After: c.After.String(), Previous: head.Hash,
	}
	d.Hash = d.hash()
	return d
}

// Head returns the head of a log that ends with this entry.
func (d LogEntry) Head() LogHead { return LogHead{d.Number, d.Hash} }

// hash computes the hash over the previous hash, the number, the time, and the strings with
// their lengths.
func (d LogEntry) hash() LogHash {
	b := append([]byte{logHashVersion}, d.Previous[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(d.Number))
	b = binary.BigEndian.AppendUint64(b, uint64(d.At.UnixMicro()))
	for _, text := range []string{d.Actor, d.Command, d.Object, d.Before, d.After, d.Reason} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
		b = append(b, text...)
	}
	sum := sha256.Sum256(b)
	h := LogHash{logHashVersion}
	copy(h[1:], sum[:])
	return h
}

// Follows fails when the entry is not the next one after head.
func (d LogEntry) Follows(head LogHead) error {
	switch {
	case d.Number != head.Number+1:
		return fmt.Errorf("entry %d: it follows entry %d; the entries between are missing", d.Number, head.Number)
	case d.Previous != head.Hash:
		return fmt.Errorf("entry %d: it does not have the hash of the entry before it", d.Number)
	case d.Hash != d.hash():
		return fmt.Errorf("entry %d: it was changed; its hash does not match its content", d.Number)
	}
	return nil
}

// Changed lists the fields that changed, for people: `suspended: no -> yes`. It leaves out
// the hash of a key, which only the audit needs.
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
