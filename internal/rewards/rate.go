package rewards

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"stockrewards/internal/money"
)

// The limits of a rate.
const (
	maxSplit      = 1000 // the most by which an action may change a quantity without a person
	exactDecimals = 9    // a rate with more may be a fraction that a broker rounded
	mostDecimals  = 18   // digits that a rate may have after the point
	mostDivisor   = 1000 // of such a fraction
)

// errRate says what a rate must be.
var errRate = errors.New("must be a number above 0, with at most 18 decimals")

// Ratio returns the ratio of the announced rates, in lowest terms: new shares for old ones. It
// fails with ErrTerms.
func (t Terms) Ratio() (Ratio, error) {
	was, err := parseRate(t.OldRate)
	if err != nil {
		return Ratio{}, fmt.Errorf("%w: the old rate %q %w", ErrTerms, t.OldRate, err)
	}
	is, err := parseRate(t.NewRate)
	if err != nil {
		return Ratio{}, fmt.Errorf("%w: the new rate %q %w", ErrTerms, t.NewRate, err)
	}
	return ratioOf(is.Quo(is, was))
}

// dividendRatio is the ratio of a stock dividend: a share becomes 1 + rate.
func (t Terms) dividendRatio() (Ratio, error) {
	rate, err := parseRate(t.Rate)
	if err != nil {
		return Ratio{}, fmt.Errorf("%w: the rate %q %w", ErrTerms, t.Rate, err)
	}
	return ratioOf(rate.Add(rate, big.NewRat(1, 1)))
}

// ratioOf returns the ratio of what a share becomes. It fails with ErrTerms.
func ratioOf(shares *big.Rat) (Ratio, error) {
	if shares.Cmp(big.NewRat(maxSplit+1, 1)) >= 0 || shares.Cmp(big.NewRat(1, maxSplit+1)) <= 0 {
		return Ratio{}, fmt.Errorf("%w: %s:%s is beyond 1:%d", ErrTerms, shares.Denom(), shares.Num(), maxSplit)
	}
	if !shares.Num().IsInt64() || !shares.Denom().IsInt64() {
		return Ratio{}, fmt.Errorf("%w: %s:%s has too many digits", ErrTerms, shares.Denom(), shares.Num())
	}
	return Ratio{Old: shares.Denom().Int64(), New: shares.Num().Int64()}, nil
}

// parseRate reads a rate. The broker writes a third as 0.3333333333333333, the nearest number of a computer
// (alpaca: trading-api.json, rates of corporate actions). With that, three shares would become a billionth less than
// one. So more than nine decimals are read as the simple fraction that they round, if there is one.
func parseRate(text string) (*big.Rat, error) {
	d, err := money.ParseDecimal(text)
	if err != nil || d.Sign() <= 0 || d.Size() > maxRateDigits {
		return nil, errRate
	}
	plain := string(d.Append(nil))
	rate, ok := new(big.Rat).SetString(plain)
	if !ok {
		return nil, errRate
	}
	_, fraction, _ := strings.Cut(plain, ".")
	if len(fraction) <= exactDecimals {
		return rate, nil
	}
	if simple, found := simplest(rate, len(fraction)); found {
		return simple, nil
	}
	if len(fraction) > mostDecimals {
		return nil, errRate
	}
	return rate, nil
}

// simplest returns the fraction with the least divisor that differs from a rate by at most one in its last decimal.
func simplest(rate *big.Rat, decimals int) (*big.Rat, bool) {
	last := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil))
	half := big.NewRat(1, 2) //nolint:mnd // to round
	for divisor := int64(1); divisor <= mostDivisor; divisor++ {
		times := new(big.Rat).Mul(rate, big.NewRat(divisor, 1))
		times.Add(times, half)
		near := new(big.Rat).SetFrac(new(big.Int).Quo(times.Num(), times.Denom()), big.NewInt(divisor))
		apart := new(big.Rat).Sub(near, rate)
		if near.Sign() > 0 && apart.Abs(apart).Cmp(last) <= 0 {
			return near, true
		}
	}
	return nil, false
}
