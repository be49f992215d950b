// Command release builds what a release consists of, from the committed source, without a
// network: programs, archives, Debian packages, an image, bills of materials and checksums.
// The same commit, version and Go give the same bytes, in any folder and at any time.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// release is what is being built.
type release struct {
	version string
	source  string // the folder of the source
	out     string // the folder of the results
	built   string // a folder for what goes into packages
	commit  commit
}

// commit is the source's.
type commit struct {
	hash   string
	time   time.Time
	author string // "Name <address>"
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	version := flag.String("version", "", "version such as 0.9.0 or 1.0.0-rc1")
	source := flag.String("source", ".", "folder of the source, a git repository without changes")
	out := flag.String("out", "dist", "folder of the results, which is emptied first")
	only := flag.String("platforms", allPlatforms, "platforms to build for")
	flag.Parse()
	if !regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9a-z.]+)?$`).MatchString(*version) {
		return fmt.Errorf("-version %q: must be like 0.9.0 or 1.0.0-rc1", *version)
	}
	platforms, err := parsePlatforms(*only)
	if err != nil {
		return err
	}
	r := release{version: *version}
	if r.source, err = filepath.Abs(*source); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(*out); err != nil {
		return err
	}
	if r.commit, err = readCommit(ctx, r.source); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o750)); err != nil {
		return err
	}
	if r.built, err = os.MkdirTemp("", "release"); err != nil {
		return err
	}
	return errors.Join(r.build(ctx, platforms), os.RemoveAll(r.built))
}

// build builds everything for the platforms, and the checksums last.
func (r release) build(ctx context.Context, platforms []platform) error {
	if err := r.shellFiles(ctx); err != nil {
		return err
	}
	var images []platform
	for _, p := range platforms {
		if err := r.program(ctx, p); err != nil {
			return fmt.Errorf("cannot build for %s: %w", p, err)
		}
		if err := errors.Join(r.archive(p), r.bill(p)); err != nil {
			return fmt.Errorf("cannot package for %s: %w", p, err)
		}
		if p.os == "linux" {
			if err := r.debian(p); err != nil {
				return fmt.Errorf("cannot make the Debian package for %s: %w", p, err)
			}
			images = append(images, p)
		}
	}
	if len(images) > 0 {
		if err := r.image(images); err != nil {
			return fmt.Errorf("cannot make the image: %w", err)
		}
	}
	return r.checksums()
}

// readCommit reads the commit that a folder has. It fails when a file differs from it: the
// program would carry the commit's hash, and be something else.
func readCommit(ctx context.Context, folder string) (c commit, err error) {
	changed, err := output(ctx, folder, "git", "status", "--porcelain")
	if err != nil {
		return c, err
	}
	if changed != "" {
		return c, fmt.Errorf("%s has changes that are not committed:\n%s", folder, changed)
	}
	line, err := output(ctx, folder, "git", "log", "-1", "--format=%H%n%cI%n%an <%ae>")
	if err != nil {
		return c, err
	}
	fields := strings.Split(strings.TrimSpace(line), "\n")
	c.hash, c.author = fields[0], fields[2]
	c.time, err = time.Parse(time.RFC3339, fields[1])
	c.time = c.time.UTC()
	return c, err
}

// output runs a program in a folder and returns what it prints.
func output(ctx context.Context, folder, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // git, go and the built program
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cannot run %s: %w", strings.Join(cmd.Args, " "), err)
	}
	return string(out), nil
}

// checksums writes SHA256SUMS, for `sha256sum -c`.
func (r release) checksums() error {
	entries, err := os.ReadDir(r.out) // sorted
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, entry := range entries {
		f, err := os.Open(filepath.Join(r.out, entry.Name()))
		if err != nil {
			return err
		}
		hash := sha256.New()
		_, err = io.Copy(hash, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", hash.Sum(nil), entry.Name())
	}
	return r.write("SHA256SUMS", []byte(sums.String()))
}

// write writes a result.
func (r release) write(name string, content []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), content, 0o644) //nolint:gosec // for everybody
}
