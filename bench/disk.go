package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// syncTime measures how long the disk takes to append and sync 4 KiB.
func syncTime(folder string) (s spread[time.Duration], err error) {
	const times, page = 300, 4096
	path := filepath.Join(folder, "sync")
	file, err := os.Create(path)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(path)) }()
	took := make([]time.Duration, times)
	for i := range took {
		began := time.Now()
		if _, err := file.Write(make([]byte, page)); err != nil {
			return s, err
		}
		if err := syscall.Fdatasync(int(file.Fd())); err != nil {
			return s, err
		}
		took[i] = time.Since(began)
	}
	return spreadOf(took), nil
}
