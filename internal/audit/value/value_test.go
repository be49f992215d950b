package value_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"stockrewards/internal/audit/value"
)

// numbers returns 64-bit numbers of every size.
func numbers(random *rand.Rand, n int) []int64 {
	special := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1}
	list := make([]int64, n)
	for i := range list {
		if list[i] = random.Int64() >> random.IntN(64); random.IntN(4) == 0 {
			list[i] = special[random.IntN(len(special))]
		}
		if random.IntN(2) == 0 {
			list[i] = -list[i]
		}
	}
	return list
}

func TestMulDiv(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		n := numbers(random, 3)
		got, ok := value.MulDiv(n[0], n[1], n[2])
		if n[0] < 0 || n[1] < 0 || n[2] <= 0 {
			if ok {
				t.Fatalf("%v: out of range, got %d", n, got)
			}
			continue
		}
		want := new(big.Int).Mul(big.NewInt(n[0]), big.NewInt(n[1]))
		want.Quo(want, big.NewInt(n[2]))
		if ok != want.IsInt64() || ok && got != want.Int64() {
			t.Fatalf("%v: got %d, %v; want %s", n, got, ok, want)
		}
	}
}

func TestSum(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	units := func(n int64) string { return value.Int(n) + " units" }
	for range 5_000 {
		list := numbers(random, 1+random.IntN(6))
		var sum, allButLast value.Sum
		want := new(big.Int)
		for _, n := range list {
			allButLast = sum
			sum.Add(n)
			want.Add(want, big.NewInt(n))
		}
		last := value.SumOf(list[len(list)-1])
		if got := sum.Format(units); got != want.String()+" units" || sum.Sign() != want.Sign() || sum.Minus(last) != allButLast {
			t.Fatalf("%v: got %s, sign %d; want %s", list, got, sum.Sign(), want)
		}
	}
}
