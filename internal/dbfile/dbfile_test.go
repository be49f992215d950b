package dbfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stockrewards/internal/dbfile"
)

// A reader of a file that was not writable for a while leaves a log that is not writable either.
func TestPrepareMakesTheLogWritable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rewards.db")
	for name, mode := range map[string]os.FileMode{path: 0o600, path + "-wal": 0o400, path + "-shm": 0o400} {
		if err := os.WriteFile(name, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := dbfile.Prepare(path); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path + "-wal", path + "-shm"} {
		if file, err := os.Stat(name); err != nil || file.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, file, err)
		}
	}
}

// Who only reads a database changes nothing, and refuses what others could have changed.
func TestCheckRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rewards.db")
	for _, c := range []struct {
		name string
		mode os.FileMode
		want string
	}{{path, 0o644, ""}, {path, 0o400, ""}, {path + "-wal", 0o600, ""}, {path + "-wal", 0o666, "lets everyone write to it"}, {path, 0o602, "lets everyone write to it"}} {
		if err := errors.Join(os.WriteFile(c.name, nil, 0o600), os.Chmod(c.name, c.mode)); err != nil {
			t.Fatal(err)
		}
		err := dbfile.CheckRead(path)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.name, c.mode, err)
		}
		if file, err := os.Stat(c.name); err != nil || file.Mode() != c.mode {
			t.Errorf("%s: %v, %v; want the mode %s", c.name, file, err, c.mode)
		}
	}
	if err := dbfile.CheckRead(t.TempDir()); err == nil || !strings.Contains(err.Error(), "it is not a regular file") {
		t.Errorf("a folder: %v", err)
	}
}

// A wrong name changes nothing: the mode of a file that is no database stays.
func TestPrepareLeavesOtherFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		mode    os.FileMode // afterwards
	}{
		"text":       {"root:x:0:0:root:/root:/bin/bash", 0o644},
		"short":      {"x", 0o644},
		"empty":      {"", 0o600},
		"a database": {"SQLite format 3\x00 and more", 0o600},
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := dbfile.Prepare(path)
		if refused := c.mode == 0o644; refused != (err != nil) {
			t.Errorf("%s: %v", name, err)
		}
		if file, err := os.Stat(path); err != nil || file.Mode() != c.mode {
			t.Errorf("%s: %v, %v; want the mode %v", name, file, err, c.mode)
		}
	}
}

// The URI of a path is always that of a file with this name.
func TestURI(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"rewards.db": "file:./rewards.db", "/data/a b%.db": "file:/data/a%20b%25.db", ":memory:": "file:./:memory:",
		"file:x.db?mode=memory": "file:./file:x.db%3Fmode=memory", "//data/./x.db": "file:/data/x.db",
	} {
		if got := dbfile.URI(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
