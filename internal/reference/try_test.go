package reference_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/api"
	"stockrewards/internal/reference"
)

const secret = "sr_test_secret"

// try serves the forms over an API that records a request and gives an answer.
func try(t *testing.T, got *string, answer string) http.Handler {
	t.Helper()
	h, err := reference.Try(api.Document(), reference.TryOptions{
		Key: secret, Known: map[string]string{"userId": "the-first-user"},
		Next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			*got = fmt.Sprint(r.Method, " ", r.URL.RequestURI(), " ", string(body), " ", r.Header.Get("X-Api-Key"), " ",
				r.Header.Get("X-Request-Id"))
			w.Header().Set("Link", `</next>; rel="next"`)
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, answer)
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func post(h http.Handler, fields ...string) *httptest.ResponseRecorder {
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	r := httptest.NewRequest(http.MethodPost, reference.Path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// A form sends what it says with the key, and shows the answer with every digit. No page has
// the key.
func TestTryIt(t *testing.T) {
	t.Parallel()
	var got string
	h := try(t, &got, `{"reward":{"amountUsd":123456.789012,"id":"<script>"}}`)
	page := httptest.NewRecorder()
	h.ServeHTTP(page, httptest.NewRequest(http.MethodGet, reference.Path, http.NoBody))
	text := page.Body.String()
	if !strings.Contains(text, `name="operation" value="createReward"`) || !strings.Contains(text, "the-first-user") {
		t.Error("no form, or it is not filled in")
	}
	if policy := page.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "form-action 'self'") {
		t.Error(policy)
	}
	for _, c := range []struct {
		fields []string
		want   string
	}{
		{[]string{"operation", "createReward", "body", `{"a": 1}`}, `POST /v1/rewards {"a": 1} ` + secret + " "},
		{[]string{"operation", "getPortfolio", "in-userId", "a/b?c"}, "GET /v1/users/a%2Fb%3Fc/portfolio  " + secret + " "},
		{
			[]string{"operation", "listRewards", "in-limit", "5", "in-status", "", "in-x-request-id", "mine", "body", "x"},
			"GET /v1/rewards?limit=5  " + secret + " mine",
		},
	} {
		w := post(h, c.fields...)
		if diff := cmp.Diff(c.want, got); diff != "" || w.Code != http.StatusOK {
			t.Errorf("%d (-want +got):\n%s", w.Code, diff)
		}
		answer := w.Body.String()
		for _, want := range []string{"201 Created", "123456.789012", "&lt;script&gt;", "link: &lt;/next&gt;; rel=&#34;next&#34;"} {
			if !strings.Contains(answer, want) {
				t.Errorf("no %s in the answer", want)
			}
		}
		if strings.Contains(answer+text, secret) || strings.Contains(answer, "<script>") {
			t.Error("the key or markup of an answer is shown")
		}
	}
}

// Forms that are not of the page send nothing.
func TestTryRefuses(t *testing.T) {
	t.Parallel()
	got := "nothing"
	h := try(t, &got, "")
	for _, w := range []*httptest.ResponseRecorder{
		post(h), post(h, "operation", "dropTable"), post(h, "operation", "createReward", "body", strings.Repeat("x", 300<<10)),
	} {
		if w.Code != http.StatusBadRequest || got != "nothing" || !strings.Contains(w.Body.String(), "nothing was sent") {
			t.Errorf("%d %s; %s", w.Code, w.Body, got)
		}
	}
}
