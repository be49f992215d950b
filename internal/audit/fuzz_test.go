package audit_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/store/sqlite"
)

// sound is a file with a history, made once.
var sound struct {
	once sync.Once
	file []byte
}

func soundFile(t *testing.T) []byte {
	t.Helper()
	sound.once.Do(func() {
		w := audittest.History(t, audittest.NewFile)
		path := filepath.Join(t.TempDir(), "copy.db")
		audittest.Exec(t, audittest.SQL(t, w.Where), `VACUUM INTO '`+path+`'`)
		var err error
		sound.file, err = os.ReadFile(path)
		check(t, err)
	})
	return sound.file
}

// FuzzFile overwrites a part of an SQLite store and truncates it. Opening it as serve does, and
// auditing it, must return soon and never panic. An unchanged file must be accepted.
func FuzzFile(f *testing.F) {
	for _, offset := range []uint32{0, 16, 18, 24, 28, 40, 56, 60, 92, 96, 100, 103, 108, 4096, 8192, 12288, 20480, 40960} {
		f.Add(offset, []byte{0}, uint32(0))
		f.Add(offset, []byte{0xff, 0xff, 0xff, 0xff}, uint32(0))
	}
	f.Add(uint32(0), []byte(nil), uint32(1))
	f.Add(uint32(0), []byte(nil), uint32(4096))
	f.Add(uint32(0), []byte(nil), uint32(0))
	f.Fuzz(func(t *testing.T, offset uint32, over []byte, cut uint32) {
		t.Parallel()
		file := append([]byte(nil), soundFile(t)...)
		changed := copy(file[int(offset)%len(file):], over) > 0 || cut > 0
		file = file[:len(file)-min(int(cut), len(file))]
		folder := t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for _, use := range []func(string) error{auditFile, openFile} {
			path := filepath.Join(folder, "rewards.db")
			check(t, os.WriteFile(path, file, 0o600))
			done := make(chan error, 1)
			go func() { done <- use(path) }()
			select {
			case err := <-done:
				if err != nil && !changed {
					t.Errorf("an unchanged file: %v", err)
				}
			case <-ctx.Done():
				t.Fatal("timeout")
			}
		}
	})
}

// auditFile audits a file and ignores the report.
func auditFile(path string) error {
	_, err := auditStore(context.Background(), path)
	return err
}

// openFile opens a file as serve does.
func openFile(path string) error {
	engine, err := sqlite.Open(context.Background(), path, sqlite.Options{Connections: 2})
	if err != nil {
		return err
	}
	return engine.Close()
}
