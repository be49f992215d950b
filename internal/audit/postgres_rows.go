package audit

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// batch is how many rows of a cursor are in memory at a time.
const batch = 1000

// fetched is the answer to a query, read from a cursor at the server.
type fetched struct {
	ctx  context.Context //nolint:containedctx // of the query, as sql.Rows keeps it
	conn *pgconn.PgConn
	name string

	types []uint32 // of the columns
	bytes []byte   // the values of the batch, one after the other
	ends  []int    // where each of them ends in bytes; negative for NULL
	rows  int      // in the batch
	row   int      // the next one
	start int      // of the row under the cursor, in ends
	from  int      // of the next row, in bytes
	at    int      // of the row under the cursor, in bytes
	last  bool     // the cursor has no more rows
	done  bool     // it is closed
	err   error
}

var _ Rows = (*fetched)(nil)

// Next goes to the next row and tells whether there is one.
func (f *fetched) Next() bool {
	if f.err == nil && f.row == f.rows && !f.last {
		f.err = f.fetch()
	}
	if f.err != nil || f.row == f.rows {
		return false
	}
	f.start, f.at = f.row*len(f.types), f.from
	for _, end := range f.ends[f.start : f.start+len(f.types)] {
		f.from = max(f.from, end)
	}
	f.row++
	return true
}

// fetch reads the next batch.
func (f *fetched) fetch() error {
	f.bytes, f.ends, f.rows, f.row, f.from = f.bytes[:0], f.ends[:0], 0, 0, 0
	binaryFormat := []int16{1}
	answer := f.conn.ExecParams(f.ctx, fmt.Sprint("FETCH ", batch, " FROM ", f.name), nil, nil, nil, binaryFormat)
	f.types = f.types[:0]
	for _, column := range answer.FieldDescriptions() {
		f.types = append(f.types, column.DataTypeOID)
	}
	for answer.NextRow() {
		for _, value := range answer.Values() {
			f.bytes = append(f.bytes, value...)
			end := len(f.bytes)
			if value == nil {
				end = -1
			}
			f.ends = append(f.ends, end)
		}
		f.rows++
	}
	_, err := answer.Close()
	f.last = f.rows < batch
	return err
}

// Scan copies the row under the cursor. Numbers go to an sql.Scanner or, as a
// truth, to a bool, texts and bytes to a string.
func (f *fetched) Scan(dest ...any) error {
	if len(dest) != len(f.types) {
		return fmt.Errorf("%d columns expected, got %d", len(dest), len(f.types))
	}
	from := f.at
	for i, d := range dest {
		end := f.ends[f.start+i]
		if end < 0 {
			return fmt.Errorf("column %d: a value expected, got NULL", i)
		}
		if err := scan(d, f.types[i], f.bytes[from:end]); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
		from = end
	}
	return nil
}

// Err is what ended the reading too early.
func (f *fetched) Err() error { return f.err }

// Close closes the cursor. After an error the server has done so itself, and when the
// context has ended it does so with the transaction.
func (f *fetched) Close() error {
	const inTransaction = 'T'
	if f.done || f.ctx.Err() != nil || f.conn.TxStatus() != inTransaction {
		return nil //nolint:nilerr // Err tells it
	}
	f.done = true
	_, err := f.conn.Exec(f.ctx, "CLOSE "+f.name).ReadAll()
	return err
}
