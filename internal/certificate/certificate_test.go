package certificate_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stockrewards/internal/certificate"
	shared "stockrewards/test/world"
)

// world is a pair of files with a clock and a log.
type world struct {
	certFile, keyFile string
	now               atomic.Int64 // unix seconds
	mu                sync.Mutex
	log               bytes.Buffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	folder := t.TempDir()
	w := &world{certFile: filepath.Join(folder, "cert.pem"), keyFile: filepath.Join(folder, "key.pem")}
	w.now.Store(time.Now().Unix())
	return w
}

func (w *world) time() time.Time            { return time.Unix(w.now.Load(), 0) }
func (w *world) advance(d time.Duration)    { w.now.Add(int64(d / time.Second)) }
func (w *world) write(t *testing.T, p pair) { w.put(t, w.certFile, p.cert); w.put(t, w.keyFile, p.key) }

func (w *world) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(b)
}

// logged counts the log lines that contain what.
func (w *world) logged(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(w.log.String(), what)
}

func (w *world) put(t *testing.T, path string, content []byte) {
	t.Helper()
	shared.Check(t, os.WriteFile(path, content, 0o600))
}

func (w *world) load(t *testing.T) *certificate.Pair {
	t.Helper()
	p, err := certificate.Load(t.Context(), w.certFile, w.keyFile, w.time, slog.New(slog.NewJSONHandler(w, nil)))
	shared.Check(t, err)
	return p
}

// pair is a self-signed certificate with its key, as PEM.
type pair struct{ cert, key []byte }

func newPair(t *testing.T, name string, from, to time.Time) pair {
	t.Helper()
	return newPairOf(t, elliptic.P256(), name, from, to)
}

// newPairOf is newPair with a key of a curve.
func newPairOf(t *testing.T, curve elliptic.Curve, name string, from, to time.Time) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	shared.Check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: from, NotAfter: to,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	shared.Check(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	shared.Check(t, err)
	return pair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	}
}

// handshake performs a TLS handshake and returns the name in the certificate.
func handshake(t *testing.T, p *certificate.Pair, c *tls.Config) (string, tls.ConnectionState, error) {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() {
		server := tls.Server(ours, p.Config())
		_ = server.HandshakeContext(context.WithoutCancel(t.Context()))
		_, _ = io.Copy(io.Discard, server)
	}()
	c.InsecureSkipVerify = true
	client := tls.Client(theirs, c)
	defer theirs.Close()
	if err := client.HandshakeContext(t.Context()); err != nil {
		return "", tls.ConnectionState{}, err
	}
	state := client.ConnectionState()
	return state.PeerCertificates[0].Subject.CommonName, state, nil
}

func (w *world) expect(t *testing.T, p *certificate.Pair, when, want string) {
	t.Helper()
	w.advance(2 * time.Second)
	if name, _, err := handshake(t, p, &tls.Config{}); err != nil || name != want {
		t.Errorf("%s: %q, %v; want %q", when, name, err, want)
	}
}

func TestReloadAcceptsOnlyValidPairs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := w.time()
	year := 365 * 24 * time.Hour
	first, second := newPair(t, "first", now.Add(-year), now.Add(year)), newPair(t, "second", now.Add(-year), now.Add(2*year))
	w.write(t, first)
	p := w.load(t)
	w.expect(t, p, "at the start", "first")
	w.put(t, w.certFile, second.cert)
	w.expect(t, p, "the old key is still there", "first")
	w.expect(t, p, "still", "first")
	if n := w.logged("cannot use the changed TLS files"); n != 1 {
		t.Errorf("%d warnings of one problem", n)
	}
	w.put(t, w.keyFile, second.key[:len(second.key)/2])
	w.expect(t, p, "half of the key", "first")
	w.put(t, w.keyFile, second.key)
	w.expect(t, p, "both are new", "second")
	expires := func(want time.Duration) {
		t.Helper()
		w.advance(2 * time.Second)
		if got := p.NotAfter(t.Context()); !got.Equal(now.Add(want).Truncate(time.Second)) {
			t.Errorf("it expires at %s", got)
		}
	}
	expires(2 * year)
	second = newPair(t, "second", now.Add(-year), now.Add(3*year))
	w.write(t, second)
	expires(3 * year) // also when no client connects
	w.put(t, w.certFile, []byte("garbage"))
	w.expect(t, p, "garbage", "second")
	w.write(t, newPair(t, "expired", now.Add(-year), now.Add(-time.Hour)))
	w.expect(t, p, "expired", "second")
	w.write(t, newPair(t, "early", now.Add(time.Hour), now.Add(year)))
	w.expect(t, p, "not valid yet", "second")
	w.advance(time.Hour)
	w.expect(t, p, "valid now", "early")
	w.write(t, newPairOf(t, elliptic.P224(), "unusable", now, now.Add(year)))
	w.expect(t, p, "no client can use the key", "early")
	for _, path := range []string{w.certFile, w.keyFile} {
		shared.Check(t, os.Remove(path))
	}
	w.expect(t, p, "the files are gone", "early")
	w.write(t, first)
	w.expect(t, p, "back to the first", "first")
	if n := w.logged("was renewed"); n != 4 {
		t.Errorf("%d renewals", n)
	}
	w.put(t, w.keyFile, second.key)
	if name, _, err := handshake(t, p, &tls.Config{}); err != nil || name != "first" {
		t.Errorf("within the second: %q, %v", name, err)
	}
}

func TestLoadRefusesMismatchedFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := w.time()
	one, other := newPair(t, "one", now, now.Add(time.Hour)), newPair(t, "other", now, now.Add(time.Hour))
	load := func() error {
		_, err := certificate.Load(t.Context(), w.certFile, w.keyFile, w.time, slog.New(slog.NewJSONHandler(w, nil)))
		return err
	}
	if err := load(); err == nil {
		t.Error("missing files are accepted")
	}
	w.write(t, pair{one.cert, other.key})
	if err := load(); err == nil || strings.Contains(err.Error(), "PRIVATE") {
		t.Errorf("another certificate's key: %v", err)
	}
	w.write(t, pair{slices.Concat(other.cert, one.cert, []byte("trailing\n")), one.key})
	if err := load(); err == nil || !strings.Contains(err.Error(), "put the server's certificate first") {
		t.Errorf("a chain in the wrong order: %v", err)
	}
	mark := []byte("\xef\xbb\xbf")
	for name, p := range map[string]pair{
		"a chain":       {slices.Concat(mark, one.cert, other.cert), one.key},
		"a certificate": {slices.Concat(mark, one.cert), one.key}, "a key": {one.cert, slices.Concat(mark, one.key)},
	} {
		w.write(t, p)
		if err := load(); err == nil || !strings.Contains(err.Error(), "begins with a byte order mark") {
			t.Errorf("%s after a byte order mark: %v", name, err)
		}
	}
	w.write(t, newPairOf(t, elliptic.P224(), "unusable", now, now.Add(time.Hour)))
	if err := load(); err == nil || !strings.Contains(err.Error(), "clients cannot use its key") {
		t.Errorf("a key of P-224: %v", err)
	}
	for _, encrypted := range []string{
		"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
		"-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n-----END EC PRIVATE KEY-----\n",
	} {
		w.put(t, w.keyFile, []byte(encrypted))
		if err := load(); err == nil || !strings.Contains(err.Error(), "the key is encrypted; decrypt it") {
			t.Errorf("an encrypted key: %v", err)
		}
	}
	w.write(t, newPair(t, "old", now.Add(-time.Hour), now.Add(-time.Minute)))
	shared.Check(t, os.Chmod(w.keyFile, 0o644))
	if err := load(); err != nil || w.logged("will refuse") != 1 || w.logged("can read the TLS key") != 1 {
		t.Errorf("expired, with a readable key: %v, %s", err, w.log.String())
	}
}

// TLS 1.2 and newer; HTTP/1.1 only.
func TestVersionsAndProtocols(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, newPair(t, "one", w.time(), w.time().Add(time.Hour)))
	p := w.load(t)
	for version, ok := range map[uint16]bool{
		tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true,
	} {
		_, state, err := handshake(t, p, &tls.Config{MinVersion: version, MaxVersion: version, NextProtos: []string{"h2", "http/1.1"}})
		if (err == nil) != ok || ok && state.NegotiatedProtocol != "http/1.1" {
			t.Errorf("%s: %v, %q", tls.VersionName(version), err, state.NegotiatedProtocol)
		}
	}
}

// TLS 1.2 is limited to suites with forward secrecy and authenticated encryption.
func TestOldCipherSuitesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, newPair(t, "server", w.time().Add(-time.Hour), w.time().Add(time.Hour)))
	p := w.load(t)
	try := func(suite uint16) error {
		_, _, err := handshake(t, p, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}})
		return err
	}
	for _, old := range []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256,
	} {
		if try(old) == nil {
			t.Errorf("%s is accepted", tls.CipherSuiteName(old))
		}
	}
	if err := try(tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256); err != nil {
		t.Errorf("a modern suite of TLS 1.2 is refused: %v", err)
	}
}
