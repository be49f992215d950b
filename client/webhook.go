package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Webhook is a verified delivery of an event.
type Webhook struct {
	ID        string // the event's id: process it once
	Type      string
	Sequence  int64 // order by it; 0 for a test
	Timestamp time.Time
	Data      EventData
}

// ErrSignature reports a delivery that the service did not sign with the secret.
var ErrSignature = errors.New("the webhook's signature is not valid")

// maxAge is the largest difference between a delivery's time and this machine's clock.
const maxAge = 5 * time.Minute

// VerifyWebhook checks a delivery as of Standard Webhooks 1.0.0, and decodes it. Give it the
// body's bytes as received, and the endpoint's secret, "whsec_…". It fails with ErrSignature,
// or when the delivery is older than five minutes: then somebody may be replaying it.
func VerifyWebhook(secret string, header http.Header, body []byte) (Webhook, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return Webhook{}, errors.New("the secret must be whsec_ followed by base64")
	}
	id, at := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(id + "." + at + ".")) // a hash never fails
	_, _ = mac.Write(body)
	if !signed(header.Get("Webhook-Signature"), mac.Sum(nil)) {
		return Webhook{}, ErrSignature
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if age := time.Since(time.Unix(seconds, 0)); err != nil || age.Abs() > maxAge {
		return Webhook{}, fmt.Errorf("the webhook's time %q is not within %s of the clock", at, maxAge)
	}
	var content struct {
		Type      string
		Timestamp time.Time
		Data      EventData
	}
	if err := json.Unmarshal(body, &content); err != nil {
		return Webhook{}, fmt.Errorf("cannot decode the webhook: %w", err)
	}
	sequence, _ := strconv.ParseInt(header.Get("X-Event-Sequence"), 10, 64) // a test has no sequence
	return Webhook{id, content.Type, sequence, content.Timestamp, content.Data}, nil
}

// signed reports whether one of the signatures is the expected one. During a rotation of the
// secret there are two.
func signed(signatures string, want []byte) bool {
	for signature := range strings.FieldsSeq(signatures) {
		encoded, known := strings.CutPrefix(signature, "v1,")
		got, err := base64.StdEncoding.DecodeString(encoded)
		if known && err == nil && hmac.Equal(got, want) {
			return true
		}
	}
	return false
}
