package client_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/client"
)

func page(body, next string) answer {
	a := answer{status: 200, body: body}
	if next != "" {
		a.header = http.Header{"Link": {"<" + next + `>; rel="next"`}}
	}
	return a
}

// A list is read page by page, as far as the caller goes.
func TestList(t *testing.T) {
	t.Parallel()
	s := &service{answers: []answer{
		page(`{"rewards":[{"id":"3"},{"id":"2"}]}`, "/v1/rewards?cursor=c%3D&limit=2"), page(`{"rewards":[{"id":"1"}]}`, ""),
	}}
	var got []string
	filter := client.RewardFilter{Status: client.Executed, CreatedAfter: time.Date(2026, 3, 2, 0, 0, 0, 125e6, time.UTC)}
	for r, err := range s.client().Rewards(t.Context(), filter) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.ID)
	}
	sent := []string{"GET /v1/rewards?createdAfter=2026-03-02T00%3A00%3A00.125Z&status=executed", "GET /v1/rewards?cursor=c%3D&limit=2"}
	if diff := cmp.Diff([][]string{{"3", "2", "1"}, sent}, [][]string{got, s.got}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.got = nil
	for range s.client().Rewards(t.Context(), client.RewardFilter{}) {
		break
	}
	if len(s.got) != 1 {
		t.Errorf("%d pages for one item", len(s.got))
	}
}

// The key never follows a link to another host, and an error ends the list.
func TestListErrors(t *testing.T) {
	t.Parallel()
	for _, next := range []string{"https://evil.example/v1/users", "//evil.example/v1/users", "http://rewards.example/v1/users", ":"} {
		s := &service{answers: []answer{page(`{"users":[{"id":"1"}]}`, next)}}
		errs := 0
		for u, err := range s.client().Users(t.Context(), client.UserFilter{}) {
			if err == nil || u.ID != "" {
				t.Errorf("%s: %+v", next, u)
			}
			errs++
			if errs > 5 {
				break
			}
		}
		if errs != 1 || len(s.got) != 1 {
			t.Errorf("%s: %d errors, %q", next, errs, s.got)
		}
	}
}

// A proxy may write a link in another way. Without one nobody knows where the feed goes on.
func TestLinks(t *testing.T) {
	t.Parallel()
	odd := answer{status: 200, body: `{"users":[{"id":"1"}]}`, header: http.Header{"Link": {`</v1/a>; rel=prev, </v1/b>; title="b"; rel=next`}}}
	s := &service{answers: []answer{odd, page(`{"users":[]}`, "")}}
	for _, err := range s.client().Users(t.Context(), client.UserFilter{}) {
		if err != nil {
			t.Error(err)
		}
	}
	if len(s.got) != 2 || s.got[1] != "GET /v1/b" {
		t.Errorf("requests %q", s.got)
	}
	s = &service{answers: []answer{page(`{"events":[]}`, "")}}
	if err := first(s.client().Events(t.Context(), 42)); err == nil || len(s.got) != 1 {
		t.Errorf("a feed without a link: error %v after %d requests", err, len(s.got))
	}
}

// feed is an event feed with one event a second, from the sequence 10 on; every third is of another type.
type feed struct {
	began time.Time
	next  int // where the next page must begin
}

// RoundTrip implements http.RoundTripper.
func (f *feed) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	after, err := strconv.Atoi(q.Get("after"))
	if err != nil || after != f.next || q.Get("wait") != "20" || q.Get("types") != "reward.executed,reward.failed" {
		return nil, errors.New("a bad query: " + r.URL.RawQuery)
	}
	answer := func(list ...string) (*http.Response, error) {
		q.Set("after", strconv.Itoa(f.next))
		return (&service{answers: []answer{
			page(`{"events":[`+strings.Join(list, ",")+`]}`, "/v1/events?"+q.Encode()),
		}}).RoundTrip(r)
	}
	for range 20 {
		var list []string
		for n := max(after+1, 10); n < 10+int(time.Since(f.began)/time.Second); n++ {
			if f.next = n; n%3 != 0 {
				list = append(list, `{"id":"e","type":"reward.executed","sequence":`+strconv.Itoa(n)+`,"data":{"reward":{"amountUsd":0.000001}}}`)
			}
		}
		if len(list) > 0 {
			return answer(list...)
		}
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(time.Second):
		}
	}
	return answer()
}

// The feed yields every event once and in order, waits for new ones, and ends with the context.
func TestEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := client.New("http://rewards.example", "key")
		c.HTTP = &http.Client{Transport: &feed{time.Now(), 12}}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var got []int64
		var last error
		for e, err := range c.Events(ctx, 12, "reward.executed", "reward.failed") {
			if last = err; err == nil {
				if got = append(got, e.Sequence); len(got) > 50 {
					break
				}
				if e.Data.Reward.AmountUSD != client.MustDecimal("0.000001") {
					t.Errorf("%+v", e.Data.Reward)
				}
			}
		}
		want := []int64{13, 14, 16, 17, 19, 20, 22, 23, 25, 26, 28, 29, 31, 32, 34, 35, 37, 38}
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(last, context.DeadlineExceeded) {
			t.Errorf("%v (-want +got):\n%s", last, diff)
		}
	})
}
