// Package certificate serves a TLS certificate from two files and reloads them when they
// change. A pair that is half written, mismatched, not valid now or with a key that clients
// cannot use never replaces a working one.
package certificate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// checkEvery is the least time between two looks at the files.
const checkEvery = time.Second

// Pair is a certificate with its key. It is safe for concurrent use.
type Pair struct {
	certFile, keyFile string
	now               func() time.Time
	log               *slog.Logger
	current           atomic.Pointer[loaded]

	mu      sync.Mutex // held while the files are read
	checked time.Time
	problem string // the last one logged, so that each is logged once
}

// loaded is the content of the two files.
type loaded struct {
	cert, key   []byte
	certificate *tls.Certificate
}

// Load reads the pair. It fails when a file is missing, the files do not match, or clients
// cannot use their key. A certificate that is not valid now, and a key that other users can
// read, are logged.
func Load(
	ctx context.Context, certFile, keyFile string, now func() time.Time, log *slog.Logger,
) (*Pair, error) {
	p := &Pair{certFile: certFile, keyFile: keyFile, now: now, log: log, checked: now()}
	l, err := p.read()
	if err != nil {
		return nil, err
	}
	if err := l.usable(); err != nil {
		return nil, err
	}
	if err := l.validAt(now()); err != nil {
		log.WarnContext(ctx, "TLS clients will refuse the certificate", slog.Any("error", err))
	}
	if info, err := os.Stat(keyFile); err == nil && info.Mode().Perm()&0o007 != 0 {
		log.WarnContext(ctx, "other users of this machine can read the TLS key", slog.String("file", keyFile))
	}
	p.current.Store(l)
	return p, nil
}

func (p *Pair) read() (*loaded, error) {
	cert, err := os.ReadFile(p.certFile)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	key, err := os.ReadFile(p.keyFile)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil && bytes.Contains(key, []byte("ENCRYPTED")) { // in its first line or in a header, as PEM
		return nil, fmt.Errorf("certificate: %s: the key is encrypted; decrypt it, as with `openssl pkey`", p.keyFile)
	}
	if err != nil {
		return nil, fmt.Errorf("certificate: %s and %s: %w%s", p.certFile, p.keyFile, err, hint(cert, key))
	}
	return &loaded{cert, key, &pair}, nil
}

// hint says why a certificate does not match its key, where the files show it; "" elsewhere.
func hint(cert, key []byte) string {
	byteOrderMark := []byte("\ufeff")
	if bytes.HasPrefix(cert, byteOrderMark) || bytes.HasPrefix(key, byteOrderMark) {
		return "; a file begins with a byte order mark (EF BB BF), which hides its first block: save it without one"
	}
	for block, rest := pem.Decode(cert); block != nil; block, rest = pem.Decode(rest) {
		if _, err := tls.X509KeyPair(rest, key); err == nil {
			return "; a later certificate of the file does: put the server's certificate first"
		}
	}
	return ""
}

func (l *loaded) validAt(now time.Time) error {
	leaf := l.certificate.Leaf
	if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		return fmt.Errorf("certificate: valid from %s to %s only",
			leaf.NotBefore.Format(time.RFC3339), leaf.NotAfter.Format(time.RFC3339))
	}
	return nil
}

// usable fails when the key can sign no handshake of TLS 1.3, such as one of the curve P-224.
func (l *loaded) usable() error {
	client := tls.ClientHelloInfo{
		SupportedVersions: []uint16{tls.VersionTLS13},
		SignatureSchemes: []tls.SignatureScheme{
			tls.ECDSAWithP256AndSHA256, tls.ECDSAWithP384AndSHA384, tls.ECDSAWithP521AndSHA512, tls.Ed25519,
			tls.PSSWithSHA256, tls.PSSWithSHA384, tls.PSSWithSHA512,
		},
	}
	if err := client.SupportsCertificate(l.certificate); err != nil {
		return fmt.Errorf("certificate: clients cannot use its key: %w", err)
	}
	return nil
}

// Config returns the server's TLS settings: TLS 1.3, or 1.2 with forward secrecy and
// authenticated encryption; HTTP/1.1 only, since api.Listener answers malformed requests
// in no other protocol.
func (p *Pair) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		CipherSuites: []uint16{ // of TLS 1.2
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			p.reload(hello.Context())
			return p.current.Load().certificate, nil
		},
	}
}

// NotAfter is when the current certificate expires. It looks at the files, as a handshake does: no client may have
// connected since they changed.
func (p *Pair) NotAfter(ctx context.Context) time.Time {
	p.reload(ctx)
	return p.current.Load().certificate.Leaf.NotAfter
}

// reload takes changed files that are valid. One caller reads them; concurrent ones
// use the current pair.
func (p *Pair) reload(ctx context.Context) {
	if !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	now := p.now()
	if age := now.Sub(p.checked); age >= 0 && age < checkEvery {
		return
	}
	p.checked = now
	l, err := p.read()
	current := p.current.Load()
	if err == nil && bytes.Equal(l.cert, current.cert) && bytes.Equal(l.key, current.key) {
		p.problem = ""
		return
	}
	if err == nil {
		err = cmp.Or(l.validAt(now), l.usable())
	}
	switch {
	case err == nil:
		p.current.Store(l)
		p.problem = ""
		p.log.InfoContext(ctx, "the TLS certificate was renewed",
			slog.Time("not_after", l.certificate.Leaf.NotAfter))
	case err.Error() != p.problem:
		p.problem = err.Error()
		p.log.WarnContext(ctx, "cannot use the changed TLS files; the previous certificate stays in use",
			slog.Any("error", err))
	}
}
