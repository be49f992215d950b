package rewards_test

import (
	"crypto/rand"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

func BenchmarkNewFingerprint(b *testing.B) {
	r := rewards.NewReward{
		IdempotencyKey: "9b2f2f0e-5d0c-4f6e-a111-0123456789ab", Amount: 5_250_000, Symbol: "AAPL", Source: "referral",
	}
	b.ReportAllocs()
	for b.Loop() {
		rewards.NewFingerprint(r, `{"campaign":"spring"}`)
	}
}

// A key's form and its hash: what every request takes, whether the key is known or not.
func BenchmarkKey(b *testing.B) {
	secret, err := rewards.NewKeySecret(rewards.TestKeyPrefix, rand.Reader)
	check(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if !rewards.WellFormedKey(secret) {
			b.Fatal("the key is not well formed")
		}
		rewards.HashKey(secret)
	}
}

func BenchmarkNewID(b *testing.B) {
	ids := rewards.NewIDs(time.Now, rand.Reader)
	b.ReportAllocs()
	for b.Loop() {
		rewards.NewID[rewards.Reward](ids)
	}
}

// A portfolio of five holdings.
func BenchmarkValue(b *testing.B) {
	var holdings []rewards.Holding
	symbols, usable := make(map[rewards.AssetID]string), make(prices)
	for i, symbol := range []string{"MSFT", "AAPL", "NVDA", "KO", "TSLA"} {
		id := rewards.AssetID(i + 1)
		holdings = append(holdings, rewards.Holding{AssetID: id, Quantity: 20_956_410, CostBasis: 5_250_000})
		symbols[id], usable[id] = symbol, 250_520_000_000
	}
	b.ReportAllocs()
	for b.Loop() {
		_, err := rewards.Value(holdings, symbols, usable)
		check(b, err)
	}
}

// A full order: a thousand rewards.
func BenchmarkAllocate(b *testing.B) {
	list := make([]money.USD, 1000)
	var sum money.USD
	for i := range list {
		list[i] = money.USD(1_000_000 + i*10_000)
		sum += list[i]
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := rewards.Allocate(list, 23_000_000_000, sum, 0); err != nil {
			b.Fatal(err)
		}
	}
}
