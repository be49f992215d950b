package audit

import (
	"database/sql"
	"encoding/binary"
	"fmt"
)

// The types of PostgreSQL that the books have, by the numbers that never change.
const (
	typeBytea = 17
	typeInt8  = 20
	typeInt4  = 23
	typeText  = 25
)

// scan copies one value, which PostgreSQL has sent in its binary form.
func scan(dest any, of uint32, value []byte) error {
	text := of == typeText || of == typeBytea
	number, isNumber := int64(0), true
	switch {
	case of == typeInt8 && len(value) == 8:
		number = signed(binary.BigEndian.Uint64(value))
	case of == typeInt4 && len(value) == 4:
		number = int64(int32(binary.BigEndian.Uint32(value)))
	default:
		isNumber = false
	}
	switch d := dest.(type) {
	case *string:
		if !text {
			break
		}
		*d = string(value)
		return nil
	case *bool:
		if !isNumber {
			break
		}
		*d = number != 0
		return nil
	case sql.Scanner:
		if !isNumber {
			break
		}
		return d.Scan(number)
	}
	return fmt.Errorf("a value of PostgreSQL's type %d cannot be read into a %T", of, dest)
}
