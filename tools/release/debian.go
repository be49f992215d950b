package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
)

// debian writes the Debian package of packaging/nfpm.yaml.
func (r release) debian(p platform) error {
	text, err := os.ReadFile(r.source + "/packaging/nfpm.yaml")
	if err != nil {
		return err
	}
	values := map[string]string{
		"VERSION": r.debianVersion(), "ARCH": p.arch, "PROGRAM": r.binary(p), "BUILT": r.built, "SOURCE": r.source,
		"MAINTAINER": r.commit.author,
	}
	filled := os.Expand(string(text), func(name string) string { return values[name] })
	config, err := nfpm.Parse(strings.NewReader(filled))
	if err != nil {
		return err
	}
	config.MTime = r.commit.time
	for _, content := range config.Contents {
		content.FileInfo.MTime = r.commit.time
	}
	info, err := config.Get("deb")
	if err != nil {
		return err
	}
	info = nfpm.WithDefaults(info)
	var b bytes.Buffer
	if err := deb.Default.Package(info, &b); err != nil {
		return err
	}
	return r.write(deb.Default.ConventionalFileName(info), b.Bytes())
}

// debianVersion sorts 1.0.0~rc1 before 1.0.0, as Debian needs.
func (r release) debianVersion() string { return strings.Replace(r.version, "-", "~", 1) }

// debianChangelog is the changelog in Debian's format, which refers to ours.
func (r release) debianChangelog() string {
	const entry = "stockrewards (%s) stable; urgency=medium\n\n  * See CHANGELOG.md.gz here.\n\n -- %s  %s\n"
	return fmt.Sprintf(entry, r.debianVersion(), r.commit.author, r.commit.time.Format(time.RFC1123Z))
}
