package reader

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// batch is the number of a cursor's rows in memory.
const batch = 1000

// postgresRows is the result of a query, read from a cursor at the server.
type postgresRows struct {
	ctx  context.Context //nolint:containedctx // of the query, like sql.Rows
	conn *pgconn.PgConn
	name string // of the cursor

	types []uint32 // of the columns
	bytes []byte   // the values of the batch, one after the other
	ends  []int    // where each value ends in bytes; negative for NULL
	rows  int      // in the batch
	row   int      // the next row
	start int      // of the current row, in ends
	from  int      // of the next row, in bytes
	at    int      // of the current row, in bytes
	last  bool     // the cursor has no more rows
	done  bool     // the cursor is closed
	err   error
}

var _ Rows = (*postgresRows)(nil)

func (f *postgresRows) Next() bool {
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
func (f *postgresRows) fetch() error {
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

// Scan implements Rows. A number goes to an sql.Scanner or, as a boolean, to a *bool; text
// and bytea go to a *string. NULL is an error.
func (f *postgresRows) Scan(dest ...any) error {
	if len(dest) != len(f.types) {
		return fmt.Errorf("unexpected number of columns: got %d, want %d", len(f.types), len(dest))
	}
	from := f.at
	for i, d := range dest {
		end := f.ends[f.start+i]
		if end < 0 {
			return fmt.Errorf("column %d: unexpected NULL", i)
		}
		if err := scan(d, f.types[i], f.bytes[from:end]); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
		from = end
	}
	return nil
}

func (f *postgresRows) Err() error { return f.err }

// Close implements Rows. After an error the server has closed the cursor; when the context
// has ended, the end of the transaction will close it.
func (f *postgresRows) Close() error {
	const inTransaction = 'T'
	if f.done || f.ctx.Err() != nil || f.conn.TxStatus() != inTransaction {
		return nil //nolint:nilerr // Err returns it
	}
	f.done = true
	_, err := f.conn.Exec(f.ctx, "CLOSE "+f.name).ReadAll()
	return err
}

// The ids of PostgreSQL's types that a store has. They never change.
const (
	typeBytea = 17
	typeInt8  = 20
	typeInt4  = 23
	typeText  = 25
)

// scan copies a value in PostgreSQL's binary format. It converts no type into another.
func scan(dest any, of uint32, value []byte) error {
	isString := of == typeText || of == typeBytea
	number, isNumber := int64(0), true
	switch {
	case of == typeInt8 && len(value) == 8:
		number = int64(binary.BigEndian.Uint64(value))
	case of == typeInt4 && len(value) == 4:
		number = int64(int32(binary.BigEndian.Uint32(value)))
	default:
		isNumber = false
	}
	switch d := dest.(type) {
	case *string:
		if isString {
			*d = string(value)
			return nil
		}
	case *bool:
		if isNumber {
			*d = number != 0
			return nil
		}
	case sql.Scanner:
		if isNumber {
			return d.Scan(number)
		}
	}
	return fmt.Errorf("cannot read a value of PostgreSQL's type %d into a %T", of, dest)
}
