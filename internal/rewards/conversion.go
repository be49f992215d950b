package rewards

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"stockrewards/internal/money"
)

// Conversion is what a corporate action does to each holding of its stock.
type Conversion struct {
	Keep   Ratio    // shares of the stock that a holder keeps; Keep.New is 0 if none
	Target AssetID  // the stock that a holder receives; 0: none
	Give   Ratio    // shares of the target for those of the stock
	Part   Fraction // of the cost basis, that goes to the target
	Ends   bool     // the stock keeps no cost basis
}

// unchanged is the conversion of an action that changes no holding.
func unchanged() Conversion { return Conversion{Keep: Ratio{1, 1}, Give: Ratio{1, 0}} }

// alike reports whether two conversions change shares in the same way.
func (c Conversion) alike(other Conversion) bool {
	return c.Keep == other.Keep && c.Target == other.Target && c.Give == other.Give
}

// Apply returns what a holding becomes, and what its user receives of the target. Quantities and
// the basis of the target are rounded down. It fails with money.ErrOverflow.
func (c Conversion) Apply(h Holding) (kept, given Holding, err error) {
	kept, given = h, Holding{AssetID: c.Target}
	if kept.Quantity, err = c.Keep.Of(h.Quantity); err != nil {
		return kept, given, err
	}
	if c.Target != 0 {
		if given.Quantity, err = c.Give.Of(h.Quantity); err != nil {
			return kept, given, err
		}
		given.CostBasis = c.Part.Of(h.CostBasis)
	}
	if kept.CostBasis -= given.CostBasis; c.Ends {
		kept.CostBasis = 0
	}
	return kept, given, nil
}

// Of returns New shares for Old, rounded down to the billionth. It fails with
// money.ErrOverflow.
func (r Ratio) Of(q money.Shares) (money.Shares, error) {
	n, err := money.MulDiv(int64(q), r.New, r.Old, money.Down)
	return money.Shares(n), err
}

// Inverse returns the ratio from New to Old.
func (r Ratio) Inverse() Ratio { return Ratio{Old: r.New, New: r.Old} }

// Price returns the price of a share in the new units, rounded to the nearest billionth. It fails
// with money.ErrOverflow, also when no share is left.
func (r Ratio) Price(p money.Price) (money.Price, error) {
	n, err := money.MulDiv(int64(p), r.Old, r.New, money.HalfAway)
	return money.Price(n), err
}

// PriceOrNone is Price, or 0 when the price in the new units is not known.
func (r Ratio) PriceOrNone(p money.Price) money.Price {
	if r.Old <= 0 || r.New <= 0 {
		return 0
	}
	converted, err := r.Price(p)
	if err != nil {
		return 0
	}
	return converted
}

// Fraction is a part of a whole, exact; the zero value is nothing.
type Fraction struct{ rat *big.Rat }

// Whole is all of it.
func Whole() Fraction { return Fraction{big.NewRat(1, 1)} }

// ParseFraction reads what Fraction.String wrote. It fails for anything but a number from 0 to 1.
func ParseFraction(text string) (Fraction, error) {
	r, ok := new(big.Rat).SetString(text)
	if !ok || r.Sign() < 0 || r.Cmp(big.NewRat(1, 1)) > 0 {
		return Fraction{}, fmt.Errorf("cannot read the fraction %q", text)
	}
	return Fraction{r}, nil
}

// String returns the fraction as "numerator/denominator", or "0".
func (f Fraction) String() string {
	if f.rat == nil {
		return "0"
	}
	return f.rat.RatString()
}

// Of returns the part of an amount, rounded down.
func (f Fraction) Of(u money.USD) money.USD {
	if f.rat == nil {
		return 0
	}
	n := new(big.Int).Mul(big.NewInt(int64(u)), f.rat.Num())
	return money.USD(n.Quo(n, f.rat.Denom()).Int64()) // at most u
}

// ErrTerms reports terms that cannot be applied by themselves.
var ErrTerms = errors.New("the terms cannot be applied")

// ErrOtherStock is the ErrTerms of a symbol that means one stock here and another one at the broker.
func ErrOtherStock(symbol string) error {
	return fmt.Errorf("%w: %s is another stock in the catalog than at the broker", ErrTerms, symbol)
}

// UnitRatio returns the ratio by which the stock's own shares change: 1:1 for an action that
// leaves them, New 0 for one that ends the stock. It fails with ErrTerms, also for a type that
// has no rule.
func (t Terms) UnitRatio() (Ratio, error) {
	switch t.Type {
	case ActionForwardSplit, ActionReverseSplit, ActionPosition:
		r, err := t.Ratio()
		switch {
		case err != nil:
		case t.Type == ActionForwardSplit && r.New <= r.Old:
			err = fmt.Errorf("%w: a forward split must give more shares than before, not %d for %d",
				ErrTerms, r.New, r.Old)
		case t.Type == ActionReverseSplit && r.New >= r.Old:
			err = fmt.Errorf("%w: a reverse split must give fewer shares than before, not %d for %d",
				ErrTerms, r.New, r.Old)
		}
		return r, err
	case ActionStockDividend:
		return t.dividendRatio()
	case ActionCashDividend, ActionNameChange, ActionSpinOff:
		return Ratio{1, 1}, nil
	case ActionStockMerger, ActionCashMerger, ActionMixedMerger, ActionWorthless:
		return Ratio{1, 0}, nil
	default:
		return Ratio{}, fmt.Errorf("%w: no rule for the type %s", ErrTerms, t.Type)
	}
}

// Conversion returns what the action does to a holding. target is the stock that a spin-off or a
// merger gives, part the part of the cost basis that a spin-off moves. It fails with ErrTerms.
func (t Terms) Conversion(target AssetID, part Fraction) (c Conversion, err error) {
	c = unchanged()
	if c.Keep, err = t.UnitRatio(); err != nil {
		return c, err
	}
	switch t.Type {
	case ActionSpinOff:
		c.Target, c.Part = target, part
		c.Give, err = t.Ratio()
	case ActionStockMerger, ActionMixedMerger:
		c.Target, c.Part, c.Ends = target, Whole(), true
		c.Give, err = t.Ratio()
	case ActionCashMerger, ActionWorthless:
		c.Ends = true
	default:
	}
	return c, err
}

// BasisPart returns the part of the cost basis that a spin-off moves to the new stock: its value
// in both stocks' value, at these prices.
func (t Terms) BasisPart(source, target money.Price) (Fraction, error) {
	r, err := t.Ratio()
	if err != nil {
		return Fraction{}, err
	}
	if source <= 0 || target <= 0 {
		return Fraction{}, fmt.Errorf("%w: the prices %s and %s", ErrTerms, source, target)
	}
	given := new(big.Int).Mul(big.NewInt(int64(target)), big.NewInt(r.New))
	kept := new(big.Int).Mul(big.NewInt(int64(source)), big.NewInt(r.Old))
	return Fraction{new(big.Rat).SetFrac(given, kept.Add(kept, given))}, nil
}

// PriceAfter returns the price of the stock after a spin-off, given the prices of both stocks, if it and what the new
// stock is worth explain the last price before; otherwise 0.
func (t Terms) PriceAfter(before, source, target money.Price) money.Price {
	r, err := t.Ratio()
	if err != nil || before <= 0 || source <= 0 {
		return 0
	}
	worth := r.Inverse().PriceOrNone(target)
	if worth <= 0 || worth > math.MaxInt64-source || !Plausible(source+worth, before) {
		return 0
	}
	return source
}

// Ends reports whether no share of the stock is left after the action.
func (a Action) Ends() bool {
	r, err := a.UnitRatio()
	return err == nil && r.New == 0
}

// Gives reports whether an action of this type gives shares of another stock.
func (t ActionType) Gives() bool {
	return t == ActionSpinOff || t == ActionStockMerger || t == ActionMixedMerger
}

// Renames reports whether the action gives its stock another symbol.
func (t Terms) Renames() bool {
	return t.Type == ActionNameChange || t.Type == ActionReverseSplit && t.NewSymbol != "" && t.NewSymbol != t.Symbol
}

// Pays reports whether an action of this type pays cash.
func (t ActionType) Pays() bool {
	return t == ActionCashDividend || t == ActionCashMerger || t == ActionMixedMerger
}

// Known reports whether there is a rule for this type.
func (t ActionType) Known() bool {
	_, err := Terms{Type: t, OldRate: "1", NewRate: "1", Rate: "1"}.UnitRatio()
	return err == nil || t == ActionForwardSplit || t == ActionReverseSplit
}
