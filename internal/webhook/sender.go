package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"stockrewards/internal/rewards"
)

// The limits of an attempt.
const (
	attemptTimeout = 15 * time.Second
	dialTimeout    = 10 * time.Second
	readBytes      = 64 << 10 // of an answer's body
	keptBytes      = 1 << 10  // of these
	maxHeaderBytes = 64 << 10 // of an answer's headers
	idleTimeout    = 90 * time.Second
	idlePerHost    = 64 // connections
	mostIdle       = 2000
)

// Request is one attempt to deliver an event.
type Request struct {
	URL      string
	ID       rewards.EventID
	Sequence int64 // negative: a test, which has none
	Body     []byte
	Secrets  [][]byte  // newest first; each signs the request
	At       time.Time // of the attempt
	Written  func()    // called when the request was written; may be nil
}

// Sender sends requests by Standard Webhooks 1.0.0. It is safe for concurrent use.
type Sender struct {
	encrypted, plain *http.Transport
	agent            string
}

// NewSender returns a sender that connects only to addresses that are allowed. Each address is judged
// after its name was resolved.
func NewSender(addresses rewards.WebhookAddresses, version string) *Sender {
	return &Sender{
		encrypted: newTransport(addresses, true), plain: newTransport(addresses, false),
		agent: "stockrewards/" + version,
	}
}

// errAddress wraps why an address is refused.
type errAddress struct{ error }

func newTransport(addresses rewards.WebhookAddresses, encrypted bool) *http.Transport {
	dialer := &net.Dialer{
		Timeout: dialTimeout,
		Control: func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err == nil {
				err = addresses.CheckAddress(to, encrypted)
			}
			if err != nil {
				return errAddress{err}
			}
			return nil
		},
	}
	return &http.Transport{
		DialContext: dialer.DialContext, Protocols: oneRequestAtOnce(), TLSHandshakeTimeout: dialTimeout,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, DisableCompression: true,
		MaxResponseHeaderBytes: maxHeaderBytes, IdleConnTimeout: idleTimeout, MaxIdleConnsPerHost: idlePerHost,
		MaxIdleConns: mostIdle,
	}
}

// oneRequestAtOnce is HTTP/1.1 alone, in which a connection has one request at a time. With HTTP/2 all apps would share
// one to each host: a receiver that reads slowly would hold up others, and one whose path is gone would get
// every retry.
func oneRequestAtOnce() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return p
}

// Close closes idle connections.
func (s *Sender) Close() {
	s.encrypted.CloseIdleConnections()
	s.plain.CloseIdleConnections()
}

// Send makes one attempt of at most 15 seconds. It follows no redirects. The error in its answer has
// no part of the address, because an address may have a secret.
func (s *Sender) Send(ctx context.Context, r Request) rewards.WebhookAnswer {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if r.Written != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			WroteRequest: func(httptrace.WroteRequestInfo) { r.Written() },
		})
	}
	request, err := s.request(ctx, r)
	if err != nil {
		return rewards.WebhookAnswer{Error: "cannot sign the request"}
	}
	transport := s.encrypted
	if request.URL.Scheme != "https" {
		transport = s.plain
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return rewards.WebhookAnswer{Error: explain(err)}
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	a := rewards.WebhookAnswer{StatusCode: answer.StatusCode}
	if a.StatusCode != http.StatusSwitchingProtocols { // it has the connection as its body, which no timeout ends
		body, _ := io.ReadAll(io.LimitReader(answer.Body, readBytes))
		a.Body = keep(body)
	}
	if a.Success() {
		return rewards.WebhookAnswer{StatusCode: a.StatusCode}
	}
	a.RetryAfter = retryAfter(answer.Header.Get("Retry-After"), r.At)
	a.Error = strings.TrimSpace(fmt.Sprintf("the receiver answered %d %s", a.StatusCode, http.StatusText(a.StatusCode)))
	if a.StatusCode < http.StatusContinue { // the library lets it pass
		a.StatusCode = 0
		a.Error += ", which is no status of HTTP"
	}
	if a.StatusCode >= http.StatusMultipleChoices && a.StatusCode < http.StatusBadRequest {
		a.Error += "; redirects are not followed"
	}
	return a
}

// request makes a signed request.
func (s *Sender) request(ctx context.Context, r Request) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	signatures := make([]string, len(r.Secrets))
	for i, secret := range r.Secrets {
		w, err := standardwebhooks.NewWebhookRaw(secret)
		if err != nil {
			return nil, err
		}
		if signatures[i], err = w.Sign(r.ID.String(), r.At, r.Body); err != nil {
			return nil, err
		}
	}
	const decimal = 10
	request.Header["Idempotency-Key"] = nil // not sent: it lets net/http try again when a kept connection was closed
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", s.agent)
	request.Header.Set(standardwebhooks.HeaderWebhookID, r.ID.String())
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(r.At.Unix(), decimal))
	request.Header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	if r.Sequence >= 0 {
		request.Header.Set("X-Event-Sequence", strconv.FormatInt(r.Sequence, decimal))
	}
	return request, nil
}

// keep returns the beginning of an answer's body as a string that both engines can store.
func keep(body []byte) string {
	text := strings.ToValidUTF8(string(body[:min(len(body), keptBytes)]), "")
	return strings.ReplaceAll(text, "\x00", "")
}

// retryAfter reads a Retry-After header: seconds, or a date. It returns 0 for anything else.
func retryAfter(header string, now time.Time) time.Duration {
	const decimal, bits = 10, 31
	if seconds, err := strconv.ParseUint(header, decimal, bits); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(seconds) * time.Second // the longest one when it is out of range
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}

// explain returns what the owner of an endpoint may read about a failure.
func explain(err error) string {
	var timeout net.Error
	refused, isRefused := errors.AsType[errAddress](err)
	_, unresolved := errors.AsType[*net.DNSError](err)
	certificate, badCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case isRefused:
		return "not sent: " + refused.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer within 15 seconds"
	case unresolved:
		return "the host name cannot be resolved"
	case badCertificate:
		return "the certificate is not valid: " + keep([]byte(certificate.Err.Error()))
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	}
	return "the connection failed"
}
