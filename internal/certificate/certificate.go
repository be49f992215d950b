// Package certificate keeps a TLS certificate with its key from two files, and takes
// what is put there in its place without a restart. It promises that a pair which is
// half written, does not fit together or is not valid now never takes the place of
// one that is good.
package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// checkEvery is how often the files are looked at, at most.
const checkEvery = time.Second

// Pair is a certificate with its key. It is safe for concurrent use.
type Pair struct {
	certFile, keyFile string
	now               func() time.Time
	log               *slog.Logger
	current           atomic.Pointer[loaded]

	mu      sync.Mutex // one look at the files at a time
	checked time.Time
	refused string // what was last said of files that cannot be taken
}

type loaded struct {
	cert, key   []byte // the files
	certificate *tls.Certificate
}

// Load reads the pair. It fails when the files do not fit together; a certificate
// that is not valid now, and a key that other users can read, are logged.
func Load(
	ctx context.Context, certFile, keyFile string, now func() time.Time, log *slog.Logger,
) (*Pair, error) {
	p := &Pair{certFile: certFile, keyFile: keyFile, now: now, log: log}
	l, err := p.read()
	if err != nil {
		return nil, err
	}
	if err := l.validAt(now()); err != nil {
		log.WarnContext(ctx, "TLS clients will refuse the certificate", slog.Any("error", err))
	}
	if info, err := os.Stat(keyFile); err == nil && info.Mode().Perm()&0o007 != 0 {
		log.WarnContext(ctx, "other users of this machine can read the TLS key", slog.String("file", keyFile))
	}
	p.current.Store(l)
	p.checked = now()
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
	if err != nil {
		return nil, fmt.Errorf("certificate: %s and %s: %w", p.certFile, p.keyFile, err)
	}
	return &loaded{cert: cert, key: key, certificate: &pair}, nil
}

func (l *loaded) validAt(now time.Time) error {
	leaf := l.certificate.Leaf
	if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		return fmt.Errorf("certificate: valid from %s to %s only",
			leaf.NotBefore.Format(time.RFC3339), leaf.NotAfter.Format(time.RFC3339))
	}
	return nil
}

// Config is the server's side of TLS: 1.2 with forward secrecy and authenticated
// encryption only, or newer; HTTP/1.1 (api.Listener answers malformed requests of that
// protocol only).
func (p *Pair) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		CipherSuites: []uint16{ // of TLS 1.2; those of 1.3 are all good
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			p.renew(hello.Context())
			return p.current.Load().certificate, nil
		},
	}
}

// NotAfter is when the certificate ends that is in use.
func (p *Pair) NotAfter() time.Time { return p.current.Load().certificate.Leaf.NotAfter }

// renew takes what is in the files when it differs and is good. One handshake looks;
// those beside it go on with what there is.
func (p *Pair) renew(ctx context.Context) {
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
	before := p.current.Load()
	if err == nil && bytes.Equal(l.cert, before.cert) && bytes.Equal(l.key, before.key) {
		p.refused = ""
		return
	}
	if err == nil {
		err = l.validAt(now)
	}
	switch {
	case err == nil:
		p.current.Store(l)
		p.refused = ""
		p.log.InfoContext(ctx, "the TLS certificate was renewed",
			slog.Time("not_after", l.certificate.Leaf.NotAfter))
	case err.Error() != p.refused:
		p.refused = err.Error()
		p.log.WarnContext(ctx, "the TLS files have changed and cannot be taken; the certificate before stays",
			slog.Any("error", err))
	}
}
