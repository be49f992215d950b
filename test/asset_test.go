package test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stockrewards/test/world"
)

// relabel is a proxy for a paper brokerage that, when switched on, renames AAPL to APLE and
// no longer sells KO.
type relabel struct {
	renamed, without, empty atomic.Bool
}

var listedKO = regexp.MustCompile(`\{[^{}]*"symbol":"KO"[^{}]*\},?`)

// serve starts the proxy and returns its address.
func (l *relabel) serve(t *testing.T, b *brokerage) *brokerage {
	t.Helper()
	proxy := &httputil.ReverseProxy{}
	proxy.Rewrite = func(p *httputil.ProxyRequest) {
		p.SetURL(&url.URL{Scheme: "http", Host: b.address})
		r := p.Out
		if !l.renamed.Load() {
			return
		}
		r.URL.RawQuery = strings.ReplaceAll(r.URL.RawQuery, "APLE", "AAPL")
		if r.Body == nil {
			return
		}
		body, _ := io.ReadAll(r.Body)
		body = bytes.ReplaceAll(body, []byte(`"APLE"`), []byte(`"AAPL"`))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	proxy.ModifyResponse = func(r *http.Response) error {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		if l.renamed.Load() {
			body = bytes.ReplaceAll(body, []byte(`"AAPL"`), []byte(`"APLE"`))
		}
		if r.Request.URL.Path == "/v2/assets" && l.without.Load() {
			body = listedKO.ReplaceAll(body, nil)
		}
		if r.Request.URL.Path == "/v2/assets" && l.empty.Load() {
			body = []byte(`[]`)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return &brokerage{address: strings.TrimPrefix(server.URL, "http://")}
}

// symbols are the stocks of the catalog.
func (s *service) symbols() string {
	s.t.Helper()
	var got struct{ Assets []struct{ Symbol string } }
	s.must(200, "GET", "/v1/assets", "").decode(s.t, &got)
	list := " "
	for _, a := range got.Assets {
		list += a.Symbol + " "
	}
	return list
}

// A renamed stock and a delisted one, while the service runs.
func TestSyncUpdatesTheCatalog(t *testing.T) {
	t.Parallel()
	s, l := newCustomer(t), &relabel{}
	b := l.serve(t, startBrokerage(t, ""))
	sync := append([]string{"asset", "sync"}, b.flags()[2:]...)
	refuses := fails(t, "exit status 1", "the broker's list is empty")
	fails(t, "exit status 1", "belongs to no broker yet")(s.try(sync...))
	s.start(b.flags()...)
	user := s.newUser("anna")
	r := s.give(user, "before-the-rename", "5", "AAPL")
	s.await(r.ID, "executed", 20*time.Second)
	s.wantOutput("disabled 0, returned 0", sync...)
	s.wantOutput("adopted 0, disabled 0, returned 0", sync...)

	l.renamed.Store(true)
	l.without.Store(true)
	before := s.command("asset", "list")
	s.wantOutput("renamed 1, new names 0, adopted 0, disabled 1,", append(sync, "--dry-run")...)
	if after := s.command("asset", "list"); after != before {
		t.Errorf("a dry run changed the catalog")
	}
	s.wantOutput("APLE    renamed   Apple Inc. Common Stock; was AAPL\n", sync...)
	s.eventually("changed catalog", time.Second, func() bool {
		known := s.symbols()
		return strings.Contains(known, " APLE ") && !strings.Contains(known, " AAPL ") && !strings.Contains(known, " KO ")
	})
	for _, gone := range []string{"AAPL", "KO"} {
		s.must(422, "POST", "/v1/rewards", giving(user, "of-what-is-gone", "5", gone))
	}
	var again struct {
		Reward           award
		IdempotentReplay bool
	}
	s.must(200, "POST", "/v1/rewards", giving(user, "before-the-rename", "5", "AAPL")).decode(t, &again)
	if again.Reward.ID != r.ID || again.Reward.AssetSymbol != "AAPL" || !again.IdempotentReplay {
		t.Errorf("the replay is %+v", again)
	}
	s.await(s.give(user, "after-the-rename", "5", "APLE").ID, "executed", 20*time.Second)
	if got := string(s.must(200, "GET", "/v1/users/"+user+"/portfolio", "").body); !strings.Contains(got, `"costBasis":10,`) || strings.Count(got, `"asset":"APLE"`) != 1 {
		t.Errorf("portfolio %s", got)
	}

	s.command("asset", "disable", "MSFT")
	l.without.Store(false)
	s.wantOutput(`"returned": 1`, append(sync, "--json")...)
	if list := s.command("asset", "list"); !regexp.MustCompile(`(?m)^MSFT +disabled +Micro`).MatchString(list) ||
		!regexp.MustCompile(`(?m)^KO +enabled +The Coca`).MatchString(list) {
		t.Errorf("the catalog is\n%s", list)
	}
	l.empty.Store(true)
	refuses(s.try(sync...))
	refuses(s.try(append(sync, "--dry-run")...))
	s.command("audit")
}

// A sync that fails changes nothing and says why.
func TestSyncIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	for want, args := range map[string][]string{
		"exit status 2":        {"asset", "sync", "--exchanges", "NYSE"},
		"there is no such":     {"asset", "sync"},
		"must be sqlite:PATH":  {"asset", "sync"},
		"unexpected argument ": {"asset", "sync", "AAPL"},
		"--symbols must not":   {"asset", "sync", "--symbols", ""},
		"--exchange: an entry": {"asset", "sync", "--exchange", "NYSE,"},
	} {
		database := map[string]string{"there is no such": "sqlite:/nowhere/rewards.db", "must be sqlite:PATH": "mysql:x"}[want]
		if database == "" {
			database = s.database()
		}
		fails(t, want)(runProgram(t, append(args, "--database", database)...))
	}
	away := newCustomer(t)
	b := startBrokerage(t, "")
	away.start(b.flags()...)
	away.await(away.give(away.newUser("anna"), "pins-the-broker", "5", "AAPL").ID, "executed", 20*time.Second)
	away.wantError("cannot ask the broker, so nothing is decided", "asset", "sync", "--alpaca-url", "http://"+world.FreeAddress(t))
}
