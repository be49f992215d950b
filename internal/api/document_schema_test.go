package api_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/api"
	"stockrewards/internal/rewards"
)

// Generators turn numbers without a format into 32-bit floats, and 999999.99 into 1000000.
func TestDocumentMakesEveryNumberADouble(t *testing.T) {
	t.Parallel()
	var document any
	check(t, json.Unmarshal(api.Document(), &document))
	numbers := 0
	walk("", document, func(path string, schema map[string]any) {
		if schema["type"] != "number" {
			return
		}
		numbers++
		if schema["format"] != "double" {
			t.Errorf("%s has the format %q, want double", path, schema["format"])
		}
		description, _ := schema["description"].(string)
		if !strings.Contains(path, "/New") && !strings.Contains(description, "exact decimal") {
			t.Errorf("%s does not say that it is an exact decimal", path)
		}
	})
	if numbers < 7 {
		t.Errorf("only %d numbers in the document", numbers)
	}
}

// walk visits every object below a value of the document.
func walk(path string, value any, visit func(string, map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		visit(path, v)
		for name, below := range v {
			walk(path+"/"+name, below, visit)
		}
	case []any:
		for _, below := range v {
			walk(path, below, visit)
		}
	}
}

// oapi-codegen has one namespace for components of all kinds.
func TestDocumentNamesComponentsOnce(t *testing.T) {
	t.Parallel()
	components := loadDocument(t).Components
	for name := range components.Parameters {
		if components.Headers[name] != nil {
			t.Errorf("%s is a parameter and a header", name)
		}
	}
}

// A new user has an email, an external id or both; a change names one of them; an erased user has
// neither. The document says so without a union, since generators make unusable types of unions.
func TestDocumentRequiresANameOfUsers(t *testing.T) {
	t.Parallel()
	for name, schema := range loadDocument(t).Components.Schemas {
		if len(schema.Value.AnyOf)+len(schema.Value.OneOf) > 0 {
			t.Errorf("%s is a union", name)
		}
	}
	user := loadDocument(t).Components.Schemas["User"].Value
	request := loadDocument(t).Components.Schemas["NewUser"].Value
	for _, given := range []struct {
		email, externalID any
		valid             bool
	}{{"a@example.com", nil, true}, {nil, "x", true}, {"a@example.com", "x", true}, {nil, nil, false}} {
		names := map[string]any{"email": given.email, "externalId": given.externalID}
		whole := map[string]any{"id": unknownID, "appId": unknownID, "createdAt": "2026-03-02T09:30:00.125Z"}
		for member, value := range names {
			whole[member] = value
		}
		checkValid(t, user, whole, true)
		checkValid(t, request, names, given.valid)
	}
	change := loadDocument(t).Components.Schemas["UserChange"].Value
	checkValid(t, change, map[string]any{}, false)
	checkValid(t, change, map[string]any{"email": nil}, true)
	checkValid(t, change, map[string]any{"externalId": "x"}, true)
	checkValid(t, request, map[string]any{}, false)
	checkValid(t, request, map[string]any{"externalId": "x"}, true)
	checkValid(t, request, map[string]any{"email": "a@example.com"}, true)
}

func checkValid(t *testing.T, schema *openapi3.Schema, value map[string]any, want bool) {
	t.Helper()
	err := schema.VisitJSON(value, openapi3.EnableJSONSchema2020())
	if (err == nil) != want {
		t.Errorf("%v is valid: %v, want %v", value, err, want)
	}
}

// The operation that reads an award lists every failure code in a table.
func TestDocumentListsEveryFailureCode(t *testing.T) {
	t.Parallel()
	text := loadDocument(t).Paths.Value("/v1/rewards/{rewardId}").Get.Description
	var got []rewards.FailureCode
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(text, -1) {
		got = append(got, rewards.FailureCode(row[1]))
	}
	if diff := cmp.Diff(rewards.FailureCodes(), got); diff != "" {
		t.Errorf("(-domain +document):\n%s", diff)
	}
}
