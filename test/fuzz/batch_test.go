package fuzz

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzBatch posts anything as an item of a batch, between two valid ones. What is accepted alone is
// accepted there and stored alike, what is refused alone is refused with the same details, and the
// other items are recorded.
func FuzzBatch(f *testing.F) {
	d, key := newDesk(f)
	const valid = `{"userId":"0199b1c6-3f60-7a10-8c1d-2e3f40516273","idempotencyKey":"order-10045-bonus","amountUsd":1,"assetSymbol":"A"}`
	for _, item := range []string{
		valid, strings.Replace(valid, "1,", `"1",`, 1), strings.Replace(valid, "}", `,"metadata":{"a":[1e400,"\u0000"]}}`, 1),
		strings.Replace(valid, "userId", `\u0075serId`, 1), `{}`, `[]`, `null`, `7`, `"x"`, `{"a":1,"a":1}`, `{},{}`, ` `, `],"rewards":[{}`,
		`]}{`, "{\"a\":\"\xff\"}", `{"rewards":[{}]}`, strings.Repeat("[", 62) + strings.Repeat("]", 62), `{"source":"","amountUsd":0}`,
	} {
		f.Add(item)
	}
	f.Fuzz(func(t *testing.T, item string) {
		type outcome struct {
			Reward json.RawMessage
			Error  struct {
				Code    string
				Details json.RawMessage
			}
		}
		var alone outcome
		status, answer := d.post(t, key, "/v1/rewards", item)
		if err := json.Unmarshal(answer, &alone); err != nil {
			t.Fatal(err)
		}
		was := d.given
		whole, answer := d.post(t, key, "/v1/rewards/batches", `{"rewards":[`+valid+","+item+","+valid+`]}`)
		var batch struct {
			Results []struct {
				Index, Status int
				outcome
			}
			Summary struct{ Created, Replayed, Refused int }
		}
		if err := json.Unmarshal(answer, &batch); err != nil {
			t.Fatal(err)
		}
		created, results := 0, batch.Results
		for i, r := range results {
			if r.Index != i || (r.Status == http.StatusCreated) == (r.Error.Code != "") || (r.Reward == nil) == (r.Error.Code == "") {
				t.Errorf("result %d: %s", i, answer)
			}
			if r.Status == http.StatusCreated {
				created++
			}
		}
		if s := batch.Summary; whole == http.StatusOK && (s.Created != created || s.Refused != len(results)-created || s.Replayed != 0) {
			t.Errorf("%+v of %s", s, answer)
		}
		nested := strings.Count(item, "[")+strings.Count(item, "{") > 60 // a batch may nest two levels less
		if status == http.StatusRequestEntityTooLarge || nested || strings.Contains(string(alone.Error.Details), `"path":""`) {
			return // the item may be no JSON, or several items
		}
		if whole != http.StatusOK || len(results) != 3 || results[0].Status != 201 || results[2].Status != 201 {
			t.Fatalf("%q is %d alone: %d %s", item, status, whole, answer)
		}
		results[1].Error.Code, alone.Error.Code = "", ""
		if diff := cmp.Diff(alone, results[1].outcome); diff != "" || results[1].Status != status {
			t.Errorf("%q: %d, want %d (-alone +in a batch):\n%s", item, results[1].Status, status, diff)
		}
		if status != http.StatusCreated {
			return
		}
		d.post(t, key, "/v1/rewards/batches", `{"rewards":[`+item+`]}`)
		if d.given != was {
			t.Errorf("%q is stored as %+v, alone as %+v", item, d.given, was)
		}
	})
}
