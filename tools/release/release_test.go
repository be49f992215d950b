package main_test

import (
	"archive/zip"
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// The same commit in another folder, compiled again without the compiler's cache, gives the same
// bytes. With -long the other platforms are made again too, from what the cache has compiled: without
// it they take a quarter of an hour of two cores.
func TestReproducible(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	copied := folder + "/in/another/folder"
	check(t, try(".", nil, "git", "clone", "-q", source, copied)) // the same commit
	again := filepath.Join(folder, "again")
	check(t, makeRelease(copied, again, "linux/amd64", "GOCACHE="+filepath.Join(folder, "cache")))
	archive := title + ".tar.gz"
	wantSame(t, again, archive, title+".cdx.json", strings.ReplaceAll(title, "_linux", "")+".deb")
	if *long {
		again = filepath.Join(folder, "all")
		check(t, makeRelease(copied, again, platforms()))
	}
	entries, err := os.ReadDir(again)
	check(t, err)
	for _, entry := range entries { // the whole release
		wantSame(t, again, entry.Name())
	}
}

// wantSame compares files of a release with those of another one.
func wantSame(t *testing.T, again string, names ...string) {
	t.Helper()
	for _, name := range names {
		first, err := os.ReadFile(filepath.Join(dist, name))
		check(t, err)
		second, err := os.ReadFile(filepath.Join(again, name))
		check(t, err)
		if !bytes.Equal(first, second) {
			t.Errorf("%s differs", name)
		}
	}
}

// A tree with changes, and a version that is not one, are refused.
func TestRefused(t *testing.T) {
	t.Parallel()
	copied := filepath.Join(t.TempDir(), "source")
	check(t, snapshot(copied))
	check(t, os.WriteFile(filepath.Join(copied, "README.md"), []byte("changed"), 0o600))
	for want, args := range map[string][]string{
		"has changes that are not committed": {"-version", version},
		`-version "v1"`:                      {"-version", "v1"},
		`-platforms "plan9/amd64"`:           {"-version", version, "-platforms", "plan9/amd64"},
	} {
		if err := try(copied, nil, tool, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

// SHA256SUMS has every file of the release, and sha256sum agrees.
func TestChecksums(t *testing.T) {
	t.Parallel()
	out := output(t, "sh", "-c", "cd "+dist+" && sha256sum --strict -c SHA256SUMS")
	entries, err := os.ReadDir(dist)
	check(t, err)
	if got, want := strings.Count(out, ": OK\n"), len(entries)-1; got != want || want < 4 {
		t.Errorf("%d sums of %d files:\n%s", got, want, out)
	}
}

// The archive has a static program that knows its version and its commit.
func TestArchive(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(unpacked(t, filepath.Join(dist, title+".tar.gz")), title)
	var got struct {
		Version, Revision, CommitTime string
		Modified                      bool
	}
	check(t, json.Unmarshal([]byte(output(t, filepath.Join(folder, "stockrewards"), "version", "--json")), &got))
	commit := strings.TrimSpace(output(t, "git", "-C", source, "rev-parse", "HEAD"))
	if got.Version != version || got.Revision != commit || got.Modified || got.CommitTime != "2026-11-01T12:00:00Z" {
		t.Errorf("%+v, want the commit %s", got, commit)
	}
	program, err := elf.Open(filepath.Join(folder, "stockrewards"))
	check(t, err)
	defer program.Close()
	if libraries, err := program.ImportedLibraries(); err != nil || len(libraries) > 0 || program.Section(".interp") != nil {
		t.Errorf("it is not static: %q, %v", libraries, err)
	}
	for _, name := range []string{
		"LICENSE", "README.md", "CHANGELOG.md", "stockrewards.1", "completions/bash", "completions/zsh", "completions/fish",
		"stockrewards.service", "serve.env", "SECURITY.md", "docs/install.md", "docs/images/dev.png",
	} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	linked(t, folder)
}

var target = regexp.MustCompile(`\]\(([^)#:\s]+)[^):]*\)`)

// linked checks that the links of a folder's documents have their files.
func linked(t *testing.T, folder string) {
	t.Helper()
	found := 0
	check(t, filepath.WalkDir(folder, func(name string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".md" {
			return err
		}
		text, err := os.ReadFile(name)
		for _, m := range target.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
			found++
		}
		return err
	}))
	if found < 100 {
		t.Errorf("%d links", found)
	}
}

// The bill of materials has every module of the program, with its version.
func TestBill(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(dist, title+".cdx.json"))
	check(t, err)
	var bill struct {
		BOMFormat, SpecVersion string
		Metadata               struct {
			Component struct{ Name, Version string }
		}
		Components []struct{ Purl string }
	}
	check(t, json.Unmarshal(text, &bill))
	if bill.BOMFormat != "CycloneDX" || bill.Metadata.Component.Version != version {
		t.Errorf("%+v", bill)
	}
	var got []string
	for _, c := range bill.Components {
		got = append(got, c.Purl)
	}
	info, err := buildinfo.ReadFile(filepath.Join(unpacked(t, filepath.Join(dist, title+".tar.gz")), title, "stockrewards"))
	check(t, err)
	want := []string{"pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go")}
	for _, module := range info.Deps {
		want = append(want, "pkg:golang/"+module.Path+"@"+module.Version)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(want) < 15 {
		t.Errorf("%q, want %q", got, want)
	}
}

// promtool accepts the alert rules, and they fire when they must.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	rules := source + "/packaging/prometheus"
	contains(t, output(t, "promtool", "check", "rules", filepath.Join(rules, "alerts.yaml")), "rules found")
	contains(t, output(t, "promtool", "test", "rules", filepath.Join(rules, "alerts_test.yaml")), "SUCCESS")
	output(t, "promtool", "check", "config", "--syntax-only", source+"/packaging/compose/prometheus.yaml")
}

// Each platform's archive has a program for it.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	for platform := range strings.SplitSeq(platforms(), ",") {
		system, arch, _ := strings.Cut(platform, "/")
		folder, name := t.TempDir(), "stockrewards_"+version+"_"+system+"_"+arch
		program := filepath.Join(folder, name, "stockrewards")
		if system == "windows" {
			program += ".exe"
			r, err := zip.OpenReader(filepath.Join(dist, name+".zip"))
			check(t, err)
			check(t, os.CopyFS(folder, r))
			check(t, r.Close())
		} else {
			output(t, "tar", "-xf", filepath.Join(dist, name+".tar.gz"), "-C", folder)
		}
		info, err := buildinfo.ReadFile(program)
		check(t, err)
		for key, want := range map[string]string{"GOOS": system, "GOARCH": arch, "CGO_ENABLED": "0", "-trimpath": "true"} {
			if !slices.Contains(info.Settings, debug.BuildSetting{Key: key, Value: want}) {
				t.Errorf("%s: %s is not %s: %v", platform, key, want, info.Settings)
			}
		}
	}
}
