package api

import (
	"context"
	_ "embed"
	"net/http"
)

// document is the OpenAPI document of the interface. Tests compare it with the
// routes and with real answers.
//
//go:embed openapi.json
var document []byte

// Document is the OpenAPI 3.1 document of the interface.
func Document() []byte { return append([]byte(nil), document...) }

// getDocument answers GET /openapi.json.
func getDocument(context.Context, call) (reply, error) {
	return reply{status: http.StatusOK, body: document}, nil
}
