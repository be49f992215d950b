// Package linear checks that the API is linearizable: every history of concurrent requests
// equals a sequential one, in which each request takes effect at one moment between its
// sending and its answer. A request without an answer may take effect at any later moment, or
// never. The models of the API are written here independently of the service.
package linear

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// unknown is the status of a request without an answer, or with 503.
const unknown = 0

// The payloads of requests with a key.
const (
	one      = iota // a dollar of a stock
	two             // two dollars of it
	noUser          // for a user that does not exist
	noSymbol        // of an unknown stock
	payloads
)

type give struct {
	key     string
	payload int
}

// look is GET /v1/rewards/{rewardId} of an id that an answer to the key returned.
type look struct{ key, id string }

// list is what GET /v1/rewards shows for a key.
type list struct{ key string }

// answer is the answer to a request about a key. For look and list, the status is 200 if
// the reward exists.
type answer struct {
	status  int
	id      string
	payload int
}

// award is the state of a key. The id of an award that no answer has shown is "".
type award struct {
	taken   bool
	payload int
	id      string
}

// is reports whether the award can be the answer's, and returns what is known then.
func (a award) is(o answer) (bool, award) {
	ok := a.taken && o.payload == a.payload && o.id != "" && (a.id == "" || a.id == o.id)
	a.id = o.id
	return ok, a
}

func (a award) give(payload int, o answer) (bool, award) {
	valid := payload == one || payload == two
	switch {
	case o.status == unknown && valid && !a.taken:
		return true, award{taken: true, payload: payload}
	case o.status == unknown:
		return true, a
	case a.taken && payload == a.payload:
		same, known := a.is(o)
		return o.status == 200 && same, known
	case a.taken:
		return o.status == 409, a
	case payload == noUser:
		return o.status == 404, a
	case payload == noSymbol:
		return o.status == 422, a
	}
	return o.status == 201 && o.payload == payload && o.id != "", award{taken: true, payload: payload, id: o.id}
}

// step applies a request to the award under its key.
func (a award) step(input, output any) (bool, award) {
	o, _ := output.(answer)
	switch in := input.(type) {
	case give:
		return a.give(in.payload, o)
	case look:
		if o.status == 404 {
			return !a.taken || a.id != in.id, a
		}
		ok, known := a.is(o)
		return ok && o.id == in.id, known
	case list:
		if o.status == 404 {
			return !a.taken, a
		}
		return a.is(o)
	}
	return false, a
}

func keyOf(input any) string {
	switch in := input.(type) {
	case give:
		return in.key
	case look:
		return in.key
	case list:
		return in.key
	}
	return ""
}

// modelOf is a model with a state for each name; S is the state.
func modelOf[S any](name func(input any) string, step func(s S, input, output any) (bool, S)) porcupine.Model {
	return porcupine.Model{
		Partition: func(h []porcupine.Operation) [][]porcupine.Operation { return partition(h, name) },
		Init:      func() any { return *new(S) },
		Step: func(state, input, output any) (bool, any) {
			s, _ := state.(S)
			return step(s, input, output)
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%T%+v -> %+v", input, input, output) },
	}
}

// awards is the model of an app's keys.
func awards() porcupine.Model { return modelOf(keyOf, award.step) }

func partition(h []porcupine.Operation, name func(any) string) [][]porcupine.Operation {
	places := map[string]int{}
	var parts [][]porcupine.Operation
	for i := range h {
		at, known := places[name(h[i].Input)]
		if !known {
			at = len(parts)
			places[name(h[i].Input)] = at
			parts = append(parts, nil)
		}
		parts[at] = append(parts[at], h[i])
	}
	return parts
}
