package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"
)

// file is a file or a folder of an archive.
type file struct {
	name    string
	mode    os.FileMode // with os.ModeDir for a folder
	owner   int
	content []byte
}

// archive writes the archive of a platform: the program, its documents and its shell files.
func (r release) archive(p platform) error {
	files, err := r.documents()
	if err != nil {
		return err
	}
	for _, f := range []struct {
		from, name string
		mode       os.FileMode
	}{
		{r.binary(p), filepath.Base(r.binary(p)), 0o755},
		{r.source + "/packaging/systemd/stockrewards.service", "stockrewards.service", 0o644},
		{r.source + "/packaging/systemd/serve.env", "serve.env", 0o644},
		{r.built + "/stockrewards.1", "stockrewards.1", 0o644},
		{r.built + "/bash", "completions/bash", 0o644},
		{r.built + "/zsh", "completions/zsh", 0o644},
		{r.built + "/fish", "completions/fish", 0o644},
	} {
		content, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		files = append(files, file{name: f.name, mode: f.mode, content: content})
	}
	for i, f := range files {
		files[i].name = path.Join(r.title(p), f.name)
	}
	if p.os == "windows" {
		packed, err := zipped(files, r.commit.time)
		return errors.Join(err, r.write(r.title(p)+".zip", packed))
	}
	packed, err := tarred(files, r.commit.time)
	if err == nil {
		packed, err = gzipped(packed)
	}
	return errors.Join(err, r.write(r.title(p)+".tar.gz", packed))
}

// tarred packs files, all of one time.
func tarred(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		header := tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.content)), Uid: f.owner, Gid: f.owner,
			Mode: int64(f.mode.Perm()), ModTime: at, Format: tar.FormatPAX,
		}
		if f.mode&os.ModeSticky != 0 {
			header.Mode |= 0o1000
		}
		if f.mode.IsDir() {
			header.Typeflag, header.Name = tar.TypeDir, f.name+"/"
		}
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// zipped packs files for Windows.
func zipped(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		header := zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		entry, err := w.CreateHeader(&header)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// gzipped compresses without a name and a time.
func gzipped(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(w, bytes.NewReader(content))
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}
