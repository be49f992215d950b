package main

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"stockrewards/internal/certificate"
)

// tlsFlags have the API speak TLS itself.
type tlsFlags struct {
	TLSCert string `name:"tls-cert" placeholder:"FILE" help:"Speak TLS with this certificate (PEM, with its chain); read again when it changes."`
	TLSKey  string `name:"tls-key" placeholder:"FILE" help:"Use this file as the certificate's key (PEM)."`
}

// loadCertificate reads the certificate; nil when there is to be no TLS.
func (f tlsFlags) loadCertificate(ctx context.Context, log *slog.Logger) (*certificate.Pair, error) {
	if f.TLSCert == "" && f.TLSKey == "" {
		return nil, nil //nolint:nilnil // no TLS is a choice
	}
	if f.TLSCert == "" || f.TLSKey == "" {
		return nil, usageErrorf("--tls-cert and --tls-key belong together")
	}
	return certificate.Load(ctx, f.TLSCert, f.TLSKey, time.Now, log)
}

// encrypted is the listener with TLS when there is a certificate.
func encrypted(l net.Listener, p *certificate.Pair) net.Listener {
	if p == nil {
		return l
	}
	return tls.NewListener(l, p.Config())
}
