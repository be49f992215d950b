// Package money has the exact quantities of the service: dollars, shares and prices as
// integers with a fixed scale. No value passes through a float, every division names its
// rounding, and an overflow is an error. See decimal.go for parsing and arith.go for
// multiplication and division.
package money

// USD is an amount of United States dollars in millionths: 1 is $0.000001.
type USD int64

// Shares is a quantity of one stock in billionths of a share.
type Shares int64

// Price is the price of one share in billionths of a dollar.
type Price int64

// The scales of the quantities in decimals, and their units.
const (
	usdDecimals   = 6
	shareDecimals = 9
	priceDecimals = 9

	Cent   USD    = 10_000        // Cent is one cent.
	Dollar USD    = 1_000_000     // Dollar is one dollar.
	Share  Shares = 1_000_000_000 // Share is one whole share.
)

// String returns the amount as a plain decimal without trailing zeros: "5.25".
func (u USD) String() string { return string(u.Append(nil)) }

// String returns the quantity as a plain decimal without trailing zeros.
func (s Shares) String() string { return string(s.Append(nil)) }

// String returns the price as a plain decimal without trailing zeros.
func (p Price) String() string { return string(p.Append(nil)) }

// Append appends the amount as a plain decimal, which is a valid JSON number.
func (u USD) Append(b []byte) []byte { return appendDecimal(b, int64(u), usdDecimals) }

// Append appends the quantity as a plain decimal, which is a valid JSON number.
func (s Shares) Append(b []byte) []byte { return appendDecimal(b, int64(s), shareDecimals) }

// Append appends the price as a plain decimal, which is a valid JSON number.
func (p Price) Append(b []byte) []byte { return appendDecimal(b, int64(p), priceDecimals) }

// UpToCent rounds the amount up to a whole cent, as a broker's notional requires. The amount
// must not be negative. It fails with ErrOverflow.
func (u USD) UpToCent() (USD, error) {
	rest := u % Cent
	if rest == 0 {
		return u, nil
	}
	return AddUSD(u, Cent-rest)
}
