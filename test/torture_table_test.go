package test

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// tortureTable records how processes reacted to faults.
type tortureTable struct {
	mu           sync.Mutex
	places       map[string]bool // scene and place: where faults are possible
	reached      map[string]bool // where faults were injected
	did          map[deed]int
	injected     int
	missed       int
	acknowledged int
}

// deed is a process's reaction to a kind of fault.
type deed struct{ scene, file, call, fault, result string }

func newTortureTable() *tortureTable {
	return &tortureTable{places: map[string]bool{}, reached: map[string]bool{}, did: map[deed]int{}}
}

func (b *tortureTable) found(scene string, p place) { b.places[scene+" "+p.String()] = true }

// digits differ from run to run.
var digits = regexp.MustCompile(`/tmp/[^ :"]*/|:\d+|\d{5,}`)

func (b *tortureTable) note(r trial, result string, acknowledged int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reached[r.scene.name+" "+r.place.String()] = true
	b.injected++
	b.acknowledged += acknowledged
	b.did[deed{r.scene.name, r.place.file, r.place.call, r.fault.String(), digits.ReplaceAllString(result, "…")}]++
}

// miss counts a fault whose place was not reached.
func (b *tortureTable) miss() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.missed++
}

func (b *tortureTable) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nSCENE\tFILE\tCALL\tFAULT\tTIMES\tTHE PROCESS")
	deeds := slices.SortedFunc(maps.Keys(b.did), func(x, y deed) int {
		return cmp.Or(cmp.Compare(x.scene, y.scene), cmp.Compare(x.file, y.file), cmp.Compare(x.call, y.call),
			cmp.Compare(x.fault, y.fault), cmp.Compare(x.result, y.result))
	})
	for _, d := range deeds {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", d.scene, d.file, d.call, d.fault, b.did[d], d.result)
	}
	w.Flush()
	fmt.Fprintf(&text, "%d places, injected at %d of them; %d faults, %d more whose place was not come to; "+
		"%d rewards acknowledged before the end, all accounted for unless an error above says otherwise\n",
		len(b.places), len(b.reached), b.injected, b.missed, b.acknowledged)
	return text.String()
}
