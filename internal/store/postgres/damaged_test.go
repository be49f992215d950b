package postgres_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/storetest"
)

// A page of the filters is zeroed on the disk, so that the server cannot read two of three. A process starts all the
// same, finds every key, and makes the two filters again.
func TestAPageOfFiltersIsZeroed(t *testing.T) {
	t.Parallel()
	const segments, many, page = 3, 2_000, 8192
	c := pgtest.Start(t, "full_page_writes=off", "autovacuum=off")
	url := database(t, c)
	w := &segmented{url: url, World: storetest.NewWorld(t, open(t, url, postgres.Options{})), conn: connect(t, url)}
	first := w.join(t)
	first.SealEvery(many)
	for n := range segments {
		for len(w.requests) < (n+1)*many {
			w.record(t, first, w.requestsFor(t, 100)...)
		}
		w.seal(t, first)
	}
	const bits = `select count(*) from segments where octet_length(filter) > 4000`
	if n := w.number(t, bits); n != segments {
		t.Fatalf("%d filters, want %d", n, segments)
	}
	var path string
	check(t, w.conn.QueryRow(t.Context(), `select current_setting('data_directory') || '/' ||
		pg_relation_filepath(reltoastrelid) from pg_class where oid = 'segments'::regclass`).Scan(&path))
	check(t, w.conn.Close(t.Context()))
	c.Stop()
	content, err := os.ReadFile(filepath.Clean(path))
	check(t, err)
	if len(content) < 2*page {
		t.Fatalf("the filters have %d bytes on the disk", len(content))
	}
	clear(content[page : 2*page])
	check(t, os.WriteFile(path, content, 0o600))
	check(t, c.Run())

	w.conn = connect(t, url)
	s := w.join(t)
	s.SealEvery(many)
	for from := 0; from < segments*many; from += many / 2 {
		w.wantReplays(t, s, from, from+10)
	}
	damaged := s.DamagedFilters()
	if len(damaged) != 2 || !strings.Contains(damaged[0], "for toast value") {
		t.Errorf("damaged are %q", damaged)
	}
	w.seal(t, s)
	s = w.join(t)
	w.wantReplays(t, s, 0, 10)
	if damaged := s.DamagedFilters(); len(damaged) > 0 {
		t.Errorf("after the repair damaged are %q", damaged)
	}
	if n := w.number(t, bits); n != segments {
		t.Errorf("after the repair %d filters, want %d", n, segments)
	}
}
