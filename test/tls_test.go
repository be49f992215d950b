package test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// authority issues certificates into two files, and configures clients to trust them.
type authority struct {
	certFile, keyFile string
	trusted           *x509.CertPool
	serial            int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	folder := t.TempDir()
	return &authority{
		certFile: filepath.Join(folder, "cert.pem"), keyFile: filepath.Join(folder, "key.pem"), trusted: x509.NewCertPool(),
	}
}

func (a *authority) flags() []string {
	return []string{"--tls-cert", a.certFile, "--tls-key", a.keyFile}
}

// issue writes a new certificate into the files.
func (a *authority) issue(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	noError(t, err)
	a.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(30 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	noError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	noError(t, err)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if !a.trusted.AppendCertsFromPEM(cert) {
		t.Fatal("not trusted")
	}
	noError(t, os.WriteFile(a.certFile, cert, 0o600))
	noError(t, os.WriteFile(a.keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
}

// config is for a client that trusts all issued certificates.
func (a *authority) config() *tls.Config { return &tls.Config{RootCAs: a.trusted.Clone()} }

// raw sends bytes over TLS and reads one answer.
func (a *authority) raw(t *testing.T, address, request string) (*http.Response, string) {
	t.Helper()
	conn, err := tls.Dial("tcp", address, a.config())
	noError(t, err)
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	noError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	noError(t, err)
	return response, string(body)
}

// The interface is the same over TLS: the same errors and the same limits.
func TestTheInterfaceOverTLS(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	a.issue(t)
	s := newService(t, t.TempDir())
	admin := s.startWatched(append(a.flags(), "--listen", "0.0.0.0:0")...) // without --behind-proxy
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.url, "http://"))
	noError(t, err)
	address := "127.0.0.1:" + port
	key := "X-Api-Key: " + s.key + "\r\n"
	for request, want := range map[string]int{
		"GET /v1/assets HTTP/1.1\r\nHost: x\r\n" + key + "\r\n":                                                       200,
		"GET /v1/assets HTTP/1.1\r\nHost: x\r\n\r\n":                                                                  401,
		"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n":                                                                    404,
		"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n":                                                                        400,
		"GET /v1/assets HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 32<<10) + "\r\n\r\n":                        400,
		"POST /v1/users HTTP/1.1\r\nHost: x\r\n" + key + "Content-Length: 70000\r\n\r\n" + strings.Repeat(" ", 70000): 413,
		"rubbish\r\n\r\n": 400,
	} {
		response, body := a.raw(t, address, request)
		id := response.Header.Get("X-Request-Id")
		ok := response.StatusCode == want && response.Header.Get("Content-Type") == "application/json" && id != ""
		s.eventually("line of the log", 20*time.Second, func() bool { return strings.Contains(s.logs(), id) })
		if !ok || want >= 400 && !strings.Contains(body, `"requestId":"`+id+`"`) {
			t.Errorf("%.40q: %d %.200s, want %d", request, response.StatusCode, body, want)
		}
	}
	if got := metric(t, admin, `http_requests_total{method="other",route="other",status="400"}`); got != 3 {
		t.Errorf("%v malformed requests are counted, want 3", got)
	}
	if left := metric(t, admin, "tls_certificate_not_after_timestamp_seconds") - float64(time.Now().Unix()); left < 29*86400 || left > 31*86400 {
		t.Errorf("the certificate ends in %v s", left)
	}
	old := a.config()
	old.MaxVersion = tls.VersionTLS11
	if conn, err := tls.Dial("tcp", address, old); err == nil {
		t.Errorf("TLS 1.1 is spoken: %v", conn.ConnectionState().Version)
	}
	wantWithoutTLS(t, address)
	if got := metric(t, admin, `http_requests_total{method="other",route="other",status="400"}`); got != 4 {
		t.Errorf("%v malformed requests are counted, want 4", got)
	}
}

// wantWithoutTLS sends bytes without TLS. A request is answered in plain words; what speaks neither TLS nor HTTP, or
// nothing, is disconnected.
func wantWithoutTLS(t *testing.T, address string) {
	t.Helper()
	for sent, want := range map[string]string{
		"POST /v1/rewards HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 5000) + "\r\n\r\n": `"details":[{"path":"","message":"it came without TLS; its address must begin with https://"}]`,
		"EHLO example.com\r\n": "",
		"":                     "",
	} {
		conn, err := net.Dial("tcp", address)
		noError(t, err)
		fmt.Fprint(conn, sent)
		_ = conn.SetReadDeadline(time.Now().Add(8 * time.Second))
		answer, err := io.ReadAll(conn)
		if err != nil && !strings.Contains(err.Error(), "reset") || !strings.Contains(string(answer), want) ||
			want == "" && strings.Contains(string(answer), "HTTP") {
			t.Errorf("%q: %q, %v", sent, answer, err)
		}
		conn.Close()
	}
}

// A certificate is renewed under load without a failed request.
func TestTheCertificateIsRenewedUnderLoad(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	a.issue(t)
	s := newService(t, t.TempDir())
	s.start(a.flags()...)
	url := strings.Replace(s.url, "http://", "https://", 1) + "/openapi.json"
	ctx, stop := context.WithCancel(t.Context())
	var served, newest atomic.Int64
	var trust atomic.Pointer[tls.Config]
	trust.Store(a.config())
	var group sync.WaitGroup
	for i := range 4 {
		keep := i%2 == 0
		group.Go(func() {
			transport := &http.Transport{DisableKeepAlives: !keep}
			transport.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				return (&tls.Dialer{Config: trust.Load()}).DialContext(ctx, network, address)
			}
			for ctx.Err() == nil {
				request, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
				response, err := transport.RoundTrip(request)
				if err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
				served.Add(1)
				time.Sleep(2 * time.Millisecond)
			}
		})
	}
	defer group.Wait()
	defer stop()
	for round := range 2 {
		next := *a
		next.trusted = a.trusted.Clone()
		folder := t.TempDir()
		next.certFile, next.keyFile = filepath.Join(folder, "c"), filepath.Join(folder, "k")
		next.issue(t)
		trust.Store(next.config()) // clients trust it before it is installed
		*a = authority{a.certFile, a.keyFile, next.trusted, next.serial}
		halves := [][2]string{{next.certFile, a.certFile}, {next.keyFile, a.keyFile}}
		first, second := halves[round], halves[1-round]
		const warning = "cannot use the changed TLS files"
		before := strings.Count(s.logs(), warning)
		copyFile(t, first[0], first[1])
		s.eventually("warning", 20*time.Second, func() bool { return strings.Count(s.logs(), warning) > before })
		copyFile(t, second[0], second[1])
		s.eventually("new certificate", 20*time.Second, func() bool {
			conn, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "http://"), a.config())
			noError(t, err)
			defer conn.Close()
			newest.Store(conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64())
			return newest.Load() == a.serial
		})
		t.Logf("round %d: certificate %d after %d requests", round, newest.Load(), served.Load())
	}
}
