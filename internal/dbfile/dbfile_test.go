package dbfile_test

import (
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

func TestCheckNameRefusesAFolder(t *testing.T) {
	t.Parallel()
	if err := dbfile.CheckName(t.TempDir()); err == nil || !strings.Contains(err.Error(), "it is not a regular file") {
		t.Errorf("a folder: %v", err)
	}
}
