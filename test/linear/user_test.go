package linear

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"
)

// identity is a user's identity in a family of users that may collide: the numbers of its
// email and external id, from 1; 0 means without.
type identity struct{ email, external int }

type create struct {
	family string
	identity
}

// find is GET /v1/users with a filter: an email, an external id, or both. With neither, it
// is what the list of all users shows for the family.
type find struct {
	family string
	identity
}

// read is GET /v1/users/{userId} of an id in the family.
type read struct{ family, id string }

// person is a user. The id of a user that no answer has shown is "".
type person struct {
	id string
	identity
}

// shown is an answer about a family: its users. A 409 shows the conflicting user and
// member.
type shown struct {
	status int
	field  string
	people family
}

// family is the users of a family: at most four, by two emails and two external ids. It is
// sorted, so that equal families are equal values.
type family [4]person

func (f family) with(p person) family {
	f[0] = p // the first place is free: colliding users are not added
	slices.SortFunc(f[:], func(a, b person) int {
		return cmp.Or(cmp.Compare(a.email, b.email), cmp.Compare(a.external, b.external))
	})
	return f
}

// people are the users that meet a condition.
func (f family) people(meet func(person) bool) (found family) {
	for _, p := range f {
		if p.identity != (identity{}) && meet(p) {
			found = found.with(p)
		}
	}
	return found
}

// are reports whether users of the family can be the shown ones, and returns what is known
// then.
func (f family) are(some, shown family) (bool, family) {
	for i := range some {
		if some[i].identity != shown[i].identity || some[i].id != "" && some[i].id != shown[i].id {
			return false, f
		}
		for j := range f {
			if f[j].identity == some[i].identity {
				f[j].id = shown[i].id
			}
		}
	}
	return true, f
}

// create is the model of uniqueness: the email first, then the external id.
func (f family) create(who identity, o shown) (bool, family) {
	holder, field := f.people(func(p person) bool { return who.email != 0 && p.email == who.email }), "email"
	if holder == (family{}) {
		holder = f.people(func(p person) bool { return who.external != 0 && p.external == who.external })
		field = "externalId"
	}
	free := holder == (family{})
	switch {
	case o.status == unknown && free:
		return true, f.with(person{identity: who})
	case o.status == unknown:
		return true, f
	case free:
		id := o.people[3].id
		return o.status == 201 && id != "" && o.people == family{}.with(person{id, who}), f.with(person{id, who})
	}
	people := o.people
	people[3].identity = holder[3].identity // a 409 shows only the id
	ok, known := f.are(holder, people)
	return ok && o.status == 409 && o.field == field, known
}

// step applies a request to the users of its family.
func (f family) step(input, output any) (bool, family) {
	o, _ := output.(shown)
	switch in := input.(type) {
	case create:
		return f.create(in.identity, o)
	case find:
		return f.are(f.people(func(p person) bool {
			return (in.email == 0 || p.email == in.email) && (in.external == 0 || p.external == in.external)
		}), o.people)
	case read:
		if o.status == 404 {
			return f.people(func(p person) bool { return p.id == in.id }) == family{}, f
		}
		who := o.people[3]
		return f.are(f.people(func(p person) bool { return p.identity == who.identity }), o.people)
	}
	return false, f
}

func familyOf(input any) string {
	switch in := input.(type) {
	case create:
		return in.family
	case find:
		return in.family
	case read:
		return in.family
	}
	return ""
}

// users is the model of an app's families of users.
func users() porcupine.Model { return modelOf(familyOf, family.step) }
