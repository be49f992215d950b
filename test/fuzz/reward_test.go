package fuzz

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"stockrewards/internal/money"
)

// FuzzReward posts anything as a reward. An accepted one has the exact amount, and posting
// its answer gives the same reward with the same fingerprint.
func FuzzReward(f *testing.F) {
	d, key := newDesk(f)
	const user = `"userId":"0199b1c6-3f60-7a10-8c1d-2e3f40516273","idempotencyKey":"order-10045-bonus"`
	for _, amount := range []string{
		"25", "0.5", "1e6", "1000000.0000000001", "0.30000000000000004", "4.9e-7", "5e-7", "-0", "1E+2", "01", ".5", "1.", "1e400", `"5"`, "null",
		"0.0000005", "999999.9999995", "0.1e1", "10000000000000000000000e-22",
	} {
		f.Add(`{` + user + `,"amountUsd":` + amount + `,"assetSymbol":"AAPL"}`)
	}
	for _, rest := range []string{
		`"assetSymbol":"brk.b","source":"referral"`, `"assetSymbol":"\u0041","metadata":{"b":1.0,"a":[1e400,"\u0000",9007199254740993]}`,
		`"assetSymbol":"ß","metadata":{}`, `"assetSymbol":"A","metadata":{"a":"\ud800"}`, `"assetSymbol":"A","metadata":{"a":1,"a":2}`,
		`"assetSymbol":"A","source":"","metadata":null`, `"assetSymbol":" A ","metadata":{ "x" : { } , "é":"\/" }`,
	} {
		f.Add(`{` + user + `,"amountUsd":1,` + rest + `}`)
	}
	f.Fuzz(func(t *testing.T, body string) {
		status, answer := d.post(t, key, "/v1/rewards", body)
		if status != http.StatusCreated {
			return
		}
		was := d.given
		var sent map[string]json.RawMessage
		var got struct {
			Reward struct {
				UserID, IdempotencyKey, AmountUSD, AssetSymbol, Source, Metadata json.RawMessage
			}
		}
		if json.Unmarshal([]byte(body), &sent) != nil || json.Unmarshal(answer, &got) != nil {
			t.Fatalf("%q was accepted: %s", body, answer)
		}
		if want := rounded(t, string(sent["amountUsd"]), 6); int64(was.Amount) != want || was.Amount <= 0 || was.Amount > 1_000_000*money.Dollar {
			t.Errorf("%s is kept as %s, in millionths %d", sent["amountUsd"], was.Amount, want)
		}
		r := got.Reward
		again := fmt.Sprintf(`{"userId":%s,"idempotencyKey":%s,"amountUsd":%s,"assetSymbol":%s,"source":%s,"metadata":%s}`,
			r.UserID, r.IdempotencyKey, r.AmountUSD, r.AssetSymbol, r.Source, r.Metadata)
		if status, answer := d.post(t, key, "/v1/rewards", again); status != http.StatusCreated || d.given != was {
			t.Errorf("%s\nis stored as %+v,\nanswered as %s,\nwhich is stored as %+v: %d %s", body, was, again, d.given, status, answer)
		}
		for _, text := range []string{was.IdempotencyKey, was.Symbol, was.Source} {
			if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
				t.Errorf("%q is stored", text)
			}
		}
	})
}

// rounded is a number as written, times a power of ten, half away from zero: by
// math/big, which shares nothing with package money.
func rounded(t *testing.T, text string, decimals int64) int64 {
	t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no number", text)
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(decimals), nil)
	r.Mul(r, new(big.Rat).SetInt(scale))
	half := big.NewRat(int64(r.Sign()), 2)
	r.Add(r, half)
	return new(big.Int).Quo(r.Num(), r.Denom()).Int64()
}
