package postgres

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"stockrewards/internal/store"
)

// row is the current row of a query. It decodes the binary form of the common types itself: the
// driver copies every bytea and takes several times as long.
type row struct {
	rows   pgx.Rows
	fields []pgconn.FieldDescription
}

// Scan implements store.Row.
func (r row) Scan(dest ...any) error {
	values := r.rows.RawValues()
	if len(dest) != len(values) {
		return fmt.Errorf("postgres: cannot scan %d columns into %d destinations", len(values), len(dest))
	}
	for i, d := range dest {
		f, v := &r.fields[i], values[i]
		if v != nil && f.Format == pgtype.BinaryFormatCode && decode(f.DataTypeOID, v, d) {
			continue
		}
		if err := r.rows.Conn().TypeMap().Scan(f.DataTypeOID, f.Format, v, d); err != nil {
			return fmt.Errorf("postgres: cannot scan column %s: %w", f.Name, err)
		}
	}
	return nil
}

// decode reports whether it could decode a value of a type in binary form.
func decode(oid uint32, v []byte, dest any) bool {
	const intLength = 8
	switch oid {
	case pgtype.Int8OID:
		return len(v) == intLength && decodeInt(int64(binary.BigEndian.Uint64(v)), dest)
	case pgtype.TextOID:
		s, ok := dest.(*string)
		if ok {
			*s = string(v)
		}
		return ok
	case pgtype.BoolOID:
		b, ok := dest.(*bool)
		if ok {
			*b = v[0] != 0
		}
		return ok
	case pgtype.ByteaOID:
		if fixed, ok := dest.(store.FixedLength); ok && len(v) == len(fixed.Bytes()) {
			copy(fixed.Bytes(), v)
			return true
		}
		scanner, ok := dest.(sql.Scanner)
		return ok && scanner.Scan(bytes.Clone(v)) == nil
	default:
		return false
	}
}

func decodeInt(n int64, dest any) bool {
	switch d := dest.(type) {
	case *int64:
		*d = n
	case *int:
		*d = int(n)
	case sql.Scanner:
		return d.Scan(n) == nil
	default:
		return false
	}
	return true
}
