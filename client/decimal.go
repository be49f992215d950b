package client

import (
	"fmt"
	"math/big"
	"strings"
)

// Decimal is an exact number, such as an amount in dollars or a quantity of shares. Equal
// numbers are equal by ==. The zero value is 0.
type Decimal struct{ text string } // without needless zeros; "" for 0

// ParseDecimal reads a number such as "5.25" or "-3". It fails for exponents, signs of plus
// and anything else.
func ParseDecimal(text string) (Decimal, error) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, hasPoint := strings.Cut(digits, ".")
	if !allDigits(whole) || hasPoint && !allDigits(fraction) || len(whole) > 1 && whole[0] == '0' {
		return Decimal{}, fmt.Errorf("%q is not a decimal number", text)
	}
	canonical := whole
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		canonical += "." + fraction
	}
	if canonical == "0" {
		return Decimal{}, nil
	}
	if negative {
		canonical = "-" + canonical
	}
	return Decimal{canonical}, nil
}

func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// MustDecimal reads a number of the program itself, and panics when the text is not a number.
func MustDecimal(text string) Decimal {
	d, err := ParseDecimal(text)
	if err != nil {
		panic(err)
	}
	return d
}

// String writes the number without an exponent and without trailing zeros.
func (d Decimal) String() string {
	if d.text == "" {
		return "0"
	}
	return d.text
}

// Rat returns the number for calculations.
func (d Decimal) Rat() *big.Rat {
	r, _ := new(big.Rat).SetString(d.String()) // every Decimal is a number
	return r
}

// MarshalJSON writes a JSON number with every digit.
func (d Decimal) MarshalJSON() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalJSON reads a JSON number with every digit.
func (d *Decimal) UnmarshalJSON(text []byte) (err error) {
	*d, err = ParseDecimal(string(text))
	return err
}
