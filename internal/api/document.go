package api

import (
	"context"
	_ "embed"
	"net/http"

	"stockrewards/internal/reference"
)

// document is the OpenAPI document. Tests compare it with the routes and with real
// responses.
//
//go:embed openapi.json
var document []byte

// Document returns a copy of the OpenAPI 3.1 document of the interface.
func Document() []byte { return append([]byte(nil), document...) }

// getDocument serves GET /openapi.json.
func getDocument(context.Context, call) (reply, error) {
	return reply{status: http.StatusOK, body: document}, nil
}

// getReference serves GET /docs: the document as a page for people.
func (s *server) getReference(context.Context, call) (reply, error) {
	page, err := s.Reference.HTML()
	return reply{status: http.StatusOK, body: page, policy: reference.Policy()}, err
}
