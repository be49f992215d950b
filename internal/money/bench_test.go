package money_test

import (
	"testing"

	"stockrewards/internal/money"
)

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		number, err := money.ParseDecimal("1234.56")
		if err != nil {
			b.Fatal(err)
		}
		if amount, err := number.USD(); err != nil || amount != 1_234_560_000 {
			b.Fatal(amount, err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	var text []byte
	b.ReportAllocs()
	for b.Loop() {
		text = money.USD(1_234_560_000).Append(text[:0])
	}
	if string(text) != "1234.56" {
		b.Fatalf("%s", text)
	}
}

func BenchmarkValue(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := money.Value(20_956_410, 250_520_000_000, money.HalfAway); err != nil {
			b.Fatal(err)
		}
	}
}
