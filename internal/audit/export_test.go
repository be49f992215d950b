package audit

import "math/big"

// MulDiv is floor(a x b / c).
func MulDiv(a, b, c int64) (int64, bool) { return mulDiv(a, b, c) }

// Sum adds numbers, and tells the sum in words and whether it is that of all but
// the last one plus the last one.
func Sum(numbers ...int64) (text string, sign int, same bool) {
	var all, rest wide
	for i, n := range numbers {
		all.add(n)
		if i < len(numbers)-1 {
			rest.add(n)
		}
	}
	if len(numbers) > 0 {
		same = all.minus(wideOf(numbers[len(numbers)-1])) == rest
	}
	return all.text(func(n int64) string { return big.NewInt(n).String() + " units" }), all.sign(), same
}
