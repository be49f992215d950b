package audit

import (
	"encoding/binary"
	"encoding/hex"
	"math/big"
	"math/bits"
	"strconv"
	"time"

	"stockrewards/internal/money"
)

// wide is a sum of 64-bit numbers that cannot overflow: two's complement of 128 bits.
type wide struct {
	hi int64
	lo uint64
}

// unsigned is the number's bits, for arithmetic that treats them as such.
func unsigned(n int64) uint64 { return uint64(n) } // the bits are meant

// signed is the number with these bits.
func signed(n uint64) int64 { return int64(n) } // the bits are meant

func wideOf(n int64) wide { return wide{hi: n >> 63, lo: unsigned(n)} }

func (w *wide) add(n int64) { *w = w.plus(wideOf(n)) }

func (w wide) plus(v wide) wide {
	lo, carry := bits.Add64(w.lo, v.lo, 0)
	return wide{hi: w.hi + v.hi + signed(carry), lo: lo}
}

func (w wide) minus(v wide) wide {
	lo, borrow := bits.Sub64(w.lo, v.lo, 0)
	return wide{hi: w.hi - v.hi - signed(borrow), lo: lo}
}

func (w wide) is(n int64) bool { return w == wideOf(n) }

func (w wide) less(v wide) bool { return w.hi < v.hi || w.hi == v.hi && w.lo < v.lo }

func (w wide) sign() int {
	switch {
	case w.hi < 0:
		return -1
	case w == wide{}:
		return 0
	default:
		return 1
	}
}

// fits tells whether the sum is a 64-bit number.
func (w wide) fits() (int64, bool) {
	n := signed(w.lo)
	return n, wideOf(n) == w
}

func (w wide) usd() string { return w.text(usd) }

func (w wide) shares() string { return w.text(shares) }

func (w wide) text(format func(int64) string) string {
	if n, ok := w.fits(); ok {
		return format(n)
	}
	n := new(big.Int).Lsh(big.NewInt(w.hi), 64)
	return n.Add(n, new(big.Int).SetUint64(w.lo)).String() + " units"
}

// mulDiv is floor(a x b / c); false when an argument is out of range or the result
// is none of 64 bits.
func mulDiv(a, b, c int64) (int64, bool) {
	if a < 0 || b < 0 || c <= 0 {
		return 0, false
	}
	hi, lo := bits.Mul64(unsigned(a), unsigned(b))
	if hi >= unsigned(c) {
		return 0, false
	}
	quotient, _ := bits.Div64(hi, lo, unsigned(c))
	return signed(quotient), quotient>>63 == 0
}

// The scales: dollars are millionths, shares and prices billionths.
const (
	cent            = 10_000
	dollar          = 1_000_000
	maxReward       = 1_000_000 * dollar
	sharesTimesCost = 1_000_000_000_000 // shares x price over dollars
)

// cost is what a fill cost, rounded down; false when that is no amount.
func cost(qty, price int64) (int64, bool) { return mulDiv(qty, price, sharesTimesCost) }

// crumb is what a billionth of a share costs, in millionths of a dollar rounded up.
func crumb(price int64) int64 {
	if price%sharesTimesCost == 0 {
		return price / sharesTimesCost
	}
	return price/sharesTimesCost + 1
}

func usd(n int64) string { return "$" + money.USD(n).String() }

func shares(n int64) string { return money.Shares(n).String() + " shares" }

func price(n int64) string { return "$" + money.Price(n).String() }

func number(n int64) string { return strconv.FormatInt(n, 10) }

// micros is a stored time.
func micros(n int64) string {
	if n == 0 {
		return "none"
	}
	return time.UnixMicro(n).UTC().Format(time.RFC3339Nano)
}

const idBytes = 16

// wellFormed tells whether the bytes are a UUID of version 7.
func wellFormed(id string) bool {
	return len(id) == idBytes && id[6]>>4 == 7 && id[8]>>6 == 2
}

// createdMillis is the millisecond in which an id was made.
func createdMillis(id string) int64 {
	if !wellFormed(id) {
		return 0
	}
	var ms [8]byte
	copy(ms[2:], id[:6])
	return signed(binary.BigEndian.Uint64(ms[:]))
}

// uuid is an id as people write it.
func uuid(id string) string {
	if len(id) != idBytes {
		return "0x" + hex.EncodeToString([]byte(id))
	}
	text := hex.EncodeToString([]byte(id))
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
