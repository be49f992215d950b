package money

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// The errors of this package. They give the reason; the caller names the field.
var (
	// ErrSyntax reports a string that is not a decimal number in JSON's grammar.
	ErrSyntax = errors.New("not a decimal number")
	// ErrPrecision reports a number with more decimals than the quantity has.
	ErrPrecision = errors.New("too many decimals")
	// ErrOverflow reports a result that does not fit.
	ErrOverflow = errors.New("too large")
)

// Decimal is an exact number of any length. Its value is 0.DIGITS x 10^exp; digits has no
// leading or trailing zeros.
type Decimal struct {
	negative bool
	digits   string
	exp      int
}

// maxExponent limits a written exponent, so that sums of exponents cannot overflow. A larger
// one gives the same results, because every limit here is far smaller.
const maxExponent = 1 << 30

// ParseDecimal parses a number in JSON's grammar, such as "-12.50" or "1e400". It fails with
// ErrSyntax.
func ParseDecimal(text string) (Decimal, error) {
	var d Decimal
	rest := text
	if strings.HasPrefix(rest, "-") {
		d.negative, rest = true, rest[1:]
	}
	mantissa, exponent, hasExponent := cutExponent(rest)
	whole, fraction, hasPoint := strings.Cut(mantissa, ".")
	if !allDigits(whole) || len(whole) > 1 && whole[0] == '0' || hasPoint && !allDigits(fraction) {
		return Decimal{}, ErrSyntax
	}
	if hasExponent {
		n, err := parseExponent(exponent)
		if err != nil {
			return Decimal{}, err
		}
		d.exp = n
	}
	digits := whole + fraction
	significant := strings.TrimLeft(digits, "0")
	d.exp += len(whole) - (len(digits) - len(significant))
	d.digits = strings.TrimRight(significant, "0")
	if d.digits == "" {
		return Decimal{}, nil
	}
	return d, nil
}

func cutExponent(s string) (mantissa, exponent string, found bool) {
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

func parseExponent(s string) (int, error) {
	digits := strings.TrimLeft(s, "+-")
	if len(s)-len(digits) > 1 || !allDigits(digits) {
		return 0, ErrSyntax
	}
	n, err := strconv.Atoi(s)
	if err != nil || n > maxExponent || n < -maxExponent { // only the range can be wrong here
		n = maxExponent
		if s[0] == '-' {
			n = -maxExponent
		}
	}
	return n, nil
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// Sign returns -1, 0 or 1.
func (d Decimal) Sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}

// GreaterThan reports whether the exact number is greater than limit, which must not be
// negative.
func (d Decimal) GreaterThan(limit int64) bool {
	if d.Sign() <= 0 {
		return false
	}
	l := strconv.FormatInt(limit, 10)
	if limit == 0 || d.exp != len(l) {
		return limit == 0 || d.exp > len(l)
	}
	return d.digits > strings.TrimRight(l, "0") // both have the same exponent
}

// USD returns the amount rounded to a millionth of a dollar, a half away from zero. It fails
// with ErrOverflow.
func (d Decimal) USD() (USD, error) {
	n, _, err := d.scaled(usdDecimals, HalfAway)
	return USD(n), err
}

// ParseShares parses an exact quantity. It fails with ErrSyntax, with ErrPrecision for more
// than nine decimals, and with ErrOverflow.
func ParseShares(text string) (Shares, error) {
	n, err := parseExact(text, shareDecimals)
	return Shares(n), err
}

// ParseUSD parses an exact amount. It fails with ErrSyntax, with ErrPrecision for more than
// six decimals, and with ErrOverflow.
func ParseUSD(text string) (USD, error) {
	n, err := parseExact(text, usdDecimals)
	return USD(n), err
}

// ParseUSDDown parses an amount and drops what is less than a millionth of a dollar, towards
// zero. It fails with ErrSyntax and ErrOverflow.
func ParseUSDDown(text string) (USD, error) {
	d, err := ParseDecimal(text)
	if err != nil {
		return 0, err
	}
	n, _, err := d.scaled(usdDecimals, Down)
	return USD(n), err
}

// ParsePrice parses a price and rounds it to a billionth of a dollar, a half away from zero.
// It fails with ErrSyntax and ErrOverflow.
func ParsePrice(text string) (Price, error) {
	d, err := ParseDecimal(text)
	if err != nil {
		return 0, err
	}
	n, _, err := d.scaled(priceDecimals, HalfAway)
	return Price(n), err
}

func parseExact(text string, decimals int) (int64, error) {
	d, err := ParseDecimal(text)
	if err != nil {
		return 0, err
	}
	n, exact, err := d.scaled(decimals, HalfAway)
	if err == nil && !exact {
		err = ErrPrecision
	}
	return n, err
}

// scaled returns the number times 10^decimals, rounded, and whether it is exact.
func (d Decimal) scaled(decimals int, r Rounding) (n int64, exact bool, err error) {
	places := d.exp + decimals // digits before the decimal point of the result
	switch {
	case d.digits == "":
		return 0, true, nil
	case places < 0:
		return 0, false, nil
	case places > 19:
		return 0, false, ErrOverflow
	}
	kept, cut := d.digits, ""
	if len(kept) > places {
		kept, cut = kept[:places], kept[places:]
	} else {
		kept += strings.Repeat("0", places-len(kept))
	}
	if kept != "" {
		if n, err = strconv.ParseInt(kept, 10, 64); err != nil {
			return 0, false, ErrOverflow
		}
	}
	if r == HalfAway && cut != "" && cut[0] >= '5' {
		if n == math.MaxInt64 {
			return 0, false, ErrOverflow
		}
		n++
	}
	if d.negative {
		n = -n
	}
	return n, cut == "", nil
}

// appendDecimal appends n / 10^decimals without trailing zeros or exponent.
func appendDecimal(b []byte, n int64, decimals int) []byte {
	magnitude := uint64(n)
	if n < 0 {
		b, magnitude = append(b, '-'), -magnitude
	}
	unit := uint64(1)
	for range decimals {
		unit *= 10
	}
	b = strconv.AppendUint(b, magnitude/unit, 10)
	fraction := magnitude % unit
	if fraction == 0 {
		return b
	}
	for ; fraction%10 == 0; decimals-- {
		fraction /= 10
	}
	const zeros = ".000000000"
	b = append(b, zeros[:1+decimals]...)
	for i := len(b) - 1; fraction > 0; i-- {
		b[i] = byte('0' + fraction%10)
		fraction /= 10
	}
	return b
}

// Append appends the number without exponent and without trailing zeros. The caller must bound Size.
func (d Decimal) Append(b []byte) []byte {
	if d.digits == "" {
		return append(b, '0')
	}
	if d.negative {
		b = append(b, '-')
	}
	switch point, n := d.exp, len(d.digits); {
	case point <= 0:
		return append(append(append(b, "0."...), strings.Repeat("0", -point)...), d.digits...)
	case point >= n:
		return append(append(b, d.digits...), strings.Repeat("0", point-n)...)
	default:
		return append(append(append(b, d.digits[:point]...), '.'), d.digits[point:]...)
	}
}

// Size returns how many digits Append writes at least: those between the decimal point and the
// number's farthest digit from it, on both sides.
func (d Decimal) Size() int {
	return max(d.exp, 0) + max(len(d.digits)-d.exp, 0)
}
