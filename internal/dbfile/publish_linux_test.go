package dbfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"stockrewards/internal/dbfile"
)

// A file gets a name that is free, and replaces none, with and without hard links.
func TestPublish(t *testing.T) {
	t.Parallel()
	for name, publish := range map[string]func(partial, path string) error{"link": dbfile.Publish, "move": dbfile.MoveNew} {
		path := filepath.Join(t.TempDir(), "file")
		partial := path + ".partial"
		if err := errors.Join(os.WriteFile(partial, []byte("first"), 0o600), publish(partial, path)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := os.Lstat(partial); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the file has its first name too: %v", name, err)
		}
		if err := os.WriteFile(partial, []byte("second"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := publish(partial, path); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s to a name that is taken: %v", name, err)
		}
		for file, want := range map[string]string{path: "first", partial: "second"} {
			if got, err := os.ReadFile(file); err != nil || string(got) != want {
				t.Errorf("%s: %s has %q, %v; want %q", name, file, got, err, want)
			}
		}
	}
}
