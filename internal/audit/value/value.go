// Package value computes with the values that a store holds and formats them for reports.
// It shares no arithmetic with the packages that write a store. Dollars are millionths,
// shares and prices billionths, times microseconds, and ids 16 bytes, as stored.
package value

import (
	"math/big"
	"math/bits"
)

// The scales of dollars.
const (
	Cent   = 10_000
	Dollar = 1_000_000
)

// sharesTimesPrice is the scale of shares times a price, relative to that of dollars.
const sharesTimesPrice = 1_000_000_000_000

// Sum is a sum of 64-bit numbers that cannot overflow: 128 bits in two's complement.
type Sum struct {
	High int64
	Low  uint64
}

// SumOf returns a sum of one number.
func SumOf(n int64) Sum { return Sum{High: n >> 63, Low: uint64(n)} }

// Add adds a number.
func (s *Sum) Add(n int64) { *s = s.Plus(SumOf(n)) }

// Plus returns s + t.
func (s Sum) Plus(t Sum) Sum {
	low, carry := bits.Add64(s.Low, t.Low, 0)
	return Sum{High: s.High + t.High + int64(carry), Low: low}
}

// Minus returns s - t.
func (s Sum) Minus(t Sum) Sum {
	low, borrow := bits.Sub64(s.Low, t.Low, 0)
	return Sum{High: s.High - t.High - int64(borrow), Low: low}
}

// Is reports whether the sum is n.
func (s Sum) Is(n int64) bool { return s == SumOf(n) }

// Less reports whether s < t.
func (s Sum) Less(t Sum) bool { return s.High < t.High || s.High == t.High && s.Low < t.Low }

// Sign returns -1, 0 or 1.
func (s Sum) Sign() int {
	switch {
	case s.High < 0:
		return -1
	case s == Sum{}:
		return 0
	default:
		return 1
	}
}

// Int64 returns the sum and whether it fits into 64 bits.
func (s Sum) Int64() (int64, bool) {
	n := int64(s.Low)
	return n, s.Is(n)
}

// Format formats a sum like a number. A sum of more than 64 bits is shown in stored units.
func (s Sum) Format(format func(int64) string) string {
	if n, ok := s.Int64(); ok {
		return format(n)
	}
	n := new(big.Int).Lsh(big.NewInt(s.High), 64)
	return n.Add(n, new(big.Int).SetUint64(s.Low)).String() + " units"
}

// USD formats the sum as dollars.
func (s Sum) USD() string { return s.Format(USD) }

// Shares formats the sum as shares.
func (s Sum) Shares() string { return s.Format(Shares) }

// MulDiv returns floor(a*b/c). It returns false when a or b is negative, c is not positive,
// or the result exceeds 63 bits.
func MulDiv(a, b, c int64) (int64, bool) {
	if a < 0 || b < 0 || c <= 0 {
		return 0, false
	}
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high >= uint64(c) {
		return 0, false
	}
	quotient, _ := bits.Div64(high, low, uint64(c))
	return int64(quotient), quotient>>63 == 0
}

// Cost returns the dollars that a fill cost, rounded down; false when they are not an amount.
func Cost(qty, price int64) (int64, bool) { return MulDiv(qty, price, sharesTimesPrice) }

// LeastCost returns the cost of a billionth of a share, in millionths of a dollar, rounded up.
func LeastCost(price int64) int64 {
	if price%sharesTimesPrice == 0 {
		return price / sharesTimesPrice
	}
	return price/sharesTimesPrice + 1
}

// Part returns a fraction of an amount, rounded down. It returns false when the text is no
// fraction from 0 to 1, or the amount is negative.
func Part(fraction string, of int64) (int64, bool) {
	r, ok := new(big.Rat).SetString(fraction)
	if !ok || r.Sign() < 0 || r.Cmp(big.NewRat(1, 1)) > 0 || of < 0 {
		return 0, false
	}
	n := new(big.Int).Mul(big.NewInt(of), r.Num())
	return n.Quo(n, r.Denom()).Int64(), true
}
