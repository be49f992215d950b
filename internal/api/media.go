package api

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// maxNamed bounds how many bytes of a header an error quotes.
const maxNamed = 100

// checkMediaType refuses a body whose headers do not say uncompressed JSON. An absent
// Content-Type is accepted.
func checkMediaType(h http.Header) error {
	for _, encoding := range h["Content-Encoding"] {
		if encoding != "" && !strings.EqualFold(encoding, "identity") {
			return unsupported("Content-Encoding " + named(encoding) + " is not supported; send the body uncompressed")
		}
	}
	given := h["Content-Type"]
	switch {
	case len(given) == 0, len(given) == 1 && isJSON(given[0]):
		return nil
	case len(given) > 1:
		return unsupported("the request has several Content-Type headers; send one, application/json")
	}
	return unsupported("Content-Type " + named(given[0]) + " is not JSON; send application/json")
}

func unsupported(message string) error {
	return &httpError{http.StatusUnsupportedMediaType, message}
}

func isJSON(contentType string) bool {
	if contentType == "application/json" { // the usual case
		return true
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && (mediaType == "application/json" ||
		strings.HasPrefix(mediaType, "application/") && strings.HasSuffix(mediaType, "+json"))
}

// named shortens a header's value for an error, and quotes it unless it is printable ASCII.
func named(value string) string {
	if len(value) > maxNamed {
		value = value[:maxNamed] + "..."
	}
	if quoted := strconv.QuoteToASCII(value); value == "" || quoted != `"`+value+`"` {
		return quoted
	}
	return value
}
