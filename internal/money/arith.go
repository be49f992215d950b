package money

import (
	"math"
	"math/bits"
	"strconv"
)

// Rounding is how a division rounds.
type Rounding int

// The roundings.
const (
	Down     Rounding = iota // Down drops the remainder (towards zero).
	HalfAway                 // HalfAway rounds to the nearest, a half away from zero.
)

// MulDiv returns a x b / c, computed with a 128-bit product. It fails with ErrOverflow when
// the result does not fit, when a or b is negative, or when c is not positive.
func MulDiv(a, b, c int64, r Rounding) (int64, error) {
	if a < 0 || b < 0 || c <= 0 {
		return 0, ErrOverflow
	}
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return 0, ErrOverflow
	}
	q, rem := bits.Div64(hi, lo, uint64(c))
	if r == HalfAway && rem >= uint64(c)-rem && q <= math.MaxInt64 {
		q++
	}
	if q > math.MaxInt64 {
		return 0, ErrOverflow
	}
	return int64(q), nil
}

// sharesTimesPrice is the scale of shares times price, relative to that of dollars.
const sharesTimesPrice = 1_000_000_000_000

// Value returns the value of the shares at the price, rounded to a millionth of a dollar. It
// fails with ErrOverflow.
func Value(s Shares, p Price, r Rounding) (USD, error) {
	n, err := MulDiv(int64(s), int64(p), sharesTimesPrice, r)
	return USD(n), err
}

// SharesFor returns the quantity that the amount buys at the price, rounded down. It fails
// with ErrOverflow, also when the price is not positive.
func SharesFor(u USD, p Price) (Shares, error) {
	n, err := MulDiv(int64(u), sharesTimesPrice, int64(p), Down)
	return Shares(n), err
}

// Portion returns floor(total x part / whole): the shares for part when whole dollars bought
// total shares. It fails with ErrOverflow.
func Portion(total Shares, part, whole USD) (Shares, error) {
	n, err := MulDiv(int64(total), int64(part), int64(whole), Down)
	return Shares(n), err
}

// AddUSD adds two amounts. It fails with ErrOverflow.
func AddUSD(a, b USD) (USD, error) {
	n, err := add(int64(a), int64(b))
	return USD(n), err
}

// AddShares adds two quantities. It fails with ErrOverflow.
func AddShares(a, b Shares) (Shares, error) {
	n, err := add(int64(a), int64(b))
	return Shares(n), err
}

func add(a, b int64) (int64, error) {
	sum := a + b
	if (sum > a) != (b > 0) {
		return 0, ErrOverflow
	}
	return sum, nil
}

// Percent returns the gain of value over cost, (value/cost - 1) x 100, with two decimals, a
// half rounded away from zero, always signed: "+5.25%". cost must be positive and value not
// negative. It fails with ErrOverflow.
func Percent(value, cost USD) (string, error) {
	sign, gain := "+", value-cost
	if gain < 0 {
		sign, gain = "-", -gain
	}
	const hundredthsOfPercent = 10_000
	n, err := MulDiv(int64(gain), hundredthsOfPercent, int64(cost), HalfAway)
	if err != nil {
		return "", err
	}
	if n == 0 {
		sign = "+"
	}
	var buffer [24]byte
	b := strconv.AppendInt(append(buffer[:0], sign...), n/100, 10)
	b = append(b, '.', byte('0'+n/10%10), byte('0'+n%10), '%')
	return string(b), nil
}
