package api

import (
	"slices"
	"strings"
)

// Routes lists every path with its methods, for comparison with the document.
func Routes() map[string][]string {
	all := make(map[string][]string)
	for _, r := range (&server{}).routes() {
		all[r.pattern] = strings.Split(allowed(r), ", ")
		slices.Sort(all[r.pattern])
	}
	return all
}
