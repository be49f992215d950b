package world

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Protocols starts a TLS server that ends each handshake, and returns its URL and the protocols that its first
// client offers.
func Protocols(t *testing.T) (url string, offered <-chan []string) {
	t.Helper()
	seen := make(chan []string, 1)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		seen <- h.SupportedProtos
		return nil, errors.New("this is enough")
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, seen
}
