package value

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"time"
	"unicode"

	"stockrewards/internal/money"
)

// USD formats dollars.
func USD(n int64) string { return "$" + money.USD(n).String() }

// Shares formats shares.
func Shares(n int64) string { return money.Shares(n).String() + " shares" }

// Price formats a price.
func Price(n int64) string { return "$" + money.Price(n).String() }

// Int formats a number.
func Int(n int64) string { return strconv.FormatInt(n, 10) }

// Asset names an asset by its id.
func Asset(id int64) string { return "asset " + Int(id) }

// Time formats a time; zero is "none".
func Time(micros int64) string {
	if micros == 0 {
		return "none"
	}
	return time.UnixMicro(micros).UTC().Format(time.RFC3339Nano)
}

// Hex formats bytes.
func Hex(bytes string) string { return "0x" + hex.EncodeToString([]byte(bytes)) }

// IDBytes is the length of an id.
const IDBytes = 16

// IsUUIDv7 reports whether an id is a UUID of version 7.
func IsUUIDv7(id string) bool {
	return len(id) == IDBytes && id[6]>>4 == 7 && id[8]>>6 == 2
}

// Created returns the time in an id, in microseconds; 0 when it is not a UUIDv7.
func Created(id string) int64 {
	if !IsUUIDv7(id) {
		return 0
	}
	var millis [8]byte
	copy(millis[2:], id[:6])
	return int64(binary.BigEndian.Uint64(millis[:])) * int64(time.Millisecond/time.Microsecond)
}

// UUID formats an id.
func UUID(id string) string {
	if len(id) != IDBytes {
		return Hex(id)
	}
	s := hex.EncodeToString([]byte(id))
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// Visible quotes a string that has control characters, so that a terminal shows them instead
// of obeying them.
func Visible(s string) string {
	for _, r := range s {
		if !unicode.IsGraphic(r) {
			return strconv.QuoteToGraphic(s)
		}
	}
	return s
}
