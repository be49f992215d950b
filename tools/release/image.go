package main

import (
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nonroot is the user of the image.
const nonroot = 65532

// image writes the image for the platforms as the archive of an OCI layout.
func (r release) image(platforms []platform) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		img, err := r.imageFor(p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
		})
	}
	folder := filepath.Join(r.built, "layout")
	to, err := layout.Write(folder, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return err
	}
	name := layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.version,
		"io.containerd.image.name":          "localhost/stockrewards:" + r.version, // for ctr and docker load
	})
	if err := to.AppendIndex(index, name); err != nil {
		return err
	}
	files, err := filesOf(folder)
	if err != nil {
		return err
	}
	packed, err := tarred(files, r.commit.time)
	return errors.Join(err, r.write("stockrewards_"+r.version+"_oci.tar", packed))
}

// imageFor makes the image of a platform, from scratch.
func (r release) imageFor(p platform) (v1.Image, error) {
	program, err := os.ReadFile(r.binary(p))
	if err != nil {
		return nil, err
	}
	var layers []v1.Layer
	folders := []file{{name: "usr", mode: os.ModeDir | 0o755}, {name: "usr/bin", mode: os.ModeDir | 0o755}}
	binary := file{name: "usr/bin/stockrewards", mode: 0o755, content: program}
	for _, files := range [][]file{imageBase(), append(folders, binary)} {
		packed, err := tarred(files, r.commit.time)
		if err != nil {
			return nil, err
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(string(packed))), nil
		}, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if img, err = mutate.AppendLayers(img, layers...); err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.os, p.arch, v1.Time{Time: r.commit.time}
	config.Config = v1.Config{
		User: "65532:65532", WorkingDir: "/data", StopSignal: "SIGTERM",
		Entrypoint: []string{"/usr/bin/stockrewards"}, Cmd: []string{"serve"},
		Env:          []string{"PATH=/usr/bin", "HOME=/data", "STOCKREWARDS_DATABASE=sqlite:/data/rewards.db"},
		Volumes:      map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}, "8081/tcp": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title": "stockrewards", "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.revision": r.commit.hash, "org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(img, config)
}

// imageBase is what the program needs from a system: a user, folders, and certificates of
// authorities, which are Mozilla's as of Go's x509roots. Time zones are in the program.
func imageBase() []file {
	var authorities strings.Builder
	for root := range bundle.Roots() {
		if root.Constraint == nil { // a file cannot say what is trusted in part
			_ = pem.Encode(&authorities, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // to memory
		}
	}
	//nolint:gosec // there is no password
	const passwd = "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/data:/sbin/nologin\n"
	folder := func(name string) file { return file{name: name, mode: os.ModeDir | 0o755} }
	return []file{
		{name: "data", mode: os.ModeDir | 0o700, owner: nonroot},
		folder("etc"),
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, content: []byte(passwd)},
		folder("etc/ssl"), folder("etc/ssl/certs"),
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: []byte(authorities.String())},
		{name: "tmp", mode: os.ModeDir | os.ModeSticky | 0o777},
	}
}

// filesOf reads a folder, in the order of names.
func filesOf(folder string) (files []file, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			files = append(files, file{name: name, mode: os.ModeDir | 0o755})
			return nil
		}
		content, err := os.ReadFile(path) //nolint:gosec // the folder is ours
		files = append(files, file{name: name, mode: 0o644, content: content})
		return err
	})
	return files, err
}
