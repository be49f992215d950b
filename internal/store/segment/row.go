package segment

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Row says where a table of PostgreSQL has a row: 4 bytes of the number of its page and 2 of the line there, as in
// ctid. A changed row may be elsewhere. So whoever uses a Row looks whether the row is the one that was meant.
type Row [rowBytes]byte

// rowBytes is the length of a Row.
const rowBytes = 6

// FirstRow is before the rows of a page.
func FirstRow(page int64) (r Row) {
	binary.BigEndian.PutUint32(r[:], uint32(page))
	return r
}

// Known reports whether it says something.
func (r Row) Known() bool { return r != Row{} }

// String returns the row as the text of a ctid.
func (r Row) String() string {
	return fmt.Sprintf("(%d,%d)", binary.BigEndian.Uint32(r[:]), binary.BigEndian.Uint16(r[4:]))
}

// RowsText returns rows as the text of an array of ctid.
func RowsText(rows []byte) string {
	var text strings.Builder
	between := `{"`
	for row := range slices.Chunk(rows, rowBytes) {
		text.WriteString(between + Row(row).String())
		between = `","`
	}
	if text.Len() == 0 {
		return "{}"
	}
	return text.String() + `"}`
}

// Rows knows where the rows of some rewards are.
type Rows []rewardRow

type rewardRow struct {
	id  ID
	row Row
}

// Add adds a reward.
func (r *Rows) Add(id ID, row Row) { *r = append(*r, rewardRow{id, row}) }

// Sort must come before Of.
func (r Rows) Sort() { slices.SortFunc(r, func(a, b rewardRow) int { return a.id.Compare(b.id) }) }

// Of returns the rows of the rewards of a block of keys or of users, in the order of the entries: zero for one that is
// not known, and nothing when none is known.
func (r Rows) Of(entries []byte) (rows []byte) {
	known := false
	for entry := range slices.Chunk(entries, IDEntryBytes) {
		var row Row
		i, found := slices.BinarySearchFunc(r, ID(entry[partBytes:]), func(a rewardRow, id ID) int {
			return a.id.Compare(id)
		})
		if found {
			row, known = r[i].row, true
		}
		rows = append(rows, row[:]...)
	}
	if !known {
		return []byte{}
	}
	return rows
}
