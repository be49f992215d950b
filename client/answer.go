package client

import (
	"context"
	"encoding/json"
)

// partial is an answer that can lack what was asked for. Then it is not the service's, but that of
// something in between, such as a proxy's page of maintenance.
type partial interface{ missing() bool }

// member is an answer of which one member is wanted.
type member[T any] struct {
	name  string
	value T
	found bool // and not null
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *member[T]) UnmarshalJSON(content []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(content, &all); err != nil {
		return err
	}
	wanted, found := all[m.name]
	if m.found = found && string(wanted) != "null"; !m.found {
		return nil
	}
	return json.Unmarshal(wanted, &m.value)
}

func (m *member[T]) missing() bool {
	if value, ok := any(&m.value).(partial); ok && value.missing() {
		return true
	}
	return !m.found
}

// ask sends a request and returns the member of that name of the answer.
func ask[T any](ctx context.Context, c *Client, method, path string, body any, name string) (T, error) {
	answer := member[T]{name: name}
	err := c.Do(ctx, method, path, body, &answer)
	return answer.value, err
}

// page is a page of a list: one member, the items.
type page[T any] map[string][]T

func (p page[T]) missing() bool {
	for _, items := range p {
		if items == nil {
			return true
		}
	}
	return len(p) != 1
}
