package sqlite

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// manyRows is how many rows an INSERT of ExecEach has when there are that many. To run a statement takes longer
// than to insert a row: an entry of a segment costs 0.45 µs instead of 1.3.
const manyRows = 16

// insertion is an INSERT of one row of arguments: what is before its row, the row, and what follows,
// without arguments: each row would need others.
var insertion = regexp.MustCompile(`(?s)^(INSERT .* VALUES )(\([^()]+\))([^?]*)$`)

// argument is an argument of a statement.
var argument = regexp.MustCompile(`\?(\d+)`)

// insertions has the INSERTs of manyRows rows by those of one row; "" for other statements. Queries are constants, so
// that their number is bounded.
var insertions sync.Map //nolint:gochecknoglobals // a cache of a pure function

// insertMany returns an INSERT of manyRows rows for one of a row with a number of arguments, or "".
func insertMany(query string, arguments int) string {
	if known, found := insertions.Load(query); found {
		many, _ := known.(string) // only strings are stored
		return many
	}
	many := ""
	if parts := insertion.FindStringSubmatch(query); parts != nil {
		rows := make([]string, manyRows)
		for i := range rows {
			rows[i] = argument.ReplaceAllStringFunc(parts[2], func(a string) string {
				number, _ := strconv.Atoi(a[1:]) // the expression has only digits
				return fmt.Sprintf("?%d", i*arguments+number)
			})
		}
		many = parts[1] + strings.Join(rows, ", ") + parts[3]
	}
	insertions.Store(query, many)
	return many
}
