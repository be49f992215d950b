package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// platform is an operating system with a processor.
type platform struct{ os, arch string }

const allPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64"

func (p platform) String() string { return p.os + "/" + p.arch }

func parsePlatforms(list string) (platforms []platform, err error) {
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(strings.Split(allPlatforms, ","), name) {
			return nil, fmt.Errorf("-platforms %q: must be of %s", name, allPlatforms)
		}
		system, arch, _ := strings.Cut(name, "/")
		platforms = append(platforms, platform{system, arch})
	}
	return platforms, nil
}

// title is the name of what is released for a platform: "stockrewards_0.9.0_linux_amd64".
func (r release) title(p platform) string {
	return "stockrewards_" + r.version + "_" + p.os + "_" + p.arch
}

// binary is where the program for a platform is built.
func (r release) binary(p platform) string {
	name := filepath.Join(r.built, p.os+"_"+p.arch, "stockrewards")
	if p.os == "windows" {
		name += ".exe"
	}
	return name
}

// program builds the program for a platform.
func (r release) program(ctx context.Context, p platform) error {
	return r.compile(ctx, r.binary(p), "GOOS="+p.os, "GOARCH="+p.arch)
}

// compile builds the program: static, and without a trace of the folder or the machine.
func (r release) compile(ctx context.Context, to string, env ...string) error {
	flags := "-s -w -buildid= -X main.version=" + r.version
	//nolint:gosec // the version is checked
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags", flags, "-o", to,
		"./cmd/stockrewards")
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.source, os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOEXPERIMENT=",
		"GOAMD64=v1", "GOARM64=v8.0")
	cmd.Env = append(cmd.Env, env...)
	return cmd.Run()
}

// shellFiles writes what the program says about itself: completions and the manual page.
func (r release) shellFiles(ctx context.Context) error {
	program := filepath.Join(r.built, "stockrewards")
	if err := r.compile(ctx, program, "GOOS=", "GOARCH="); err != nil { // for this machine
		return fmt.Errorf("cannot build the program: %w", err)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, err := output(ctx, r.built, program, "completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.built, shell), []byte(script), 0o600); err != nil {
			return err
		}
	}
	page, err := output(ctx, r.built, program, "manual")
	if err != nil {
		return err
	}
	changes, err := os.ReadFile(filepath.Join(r.source, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"stockrewards.1": page, "CHANGELOG.md": string(changes), "changelog": r.debianChangelog(),
	} {
		packed, err := gzipped([]byte(text))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.built, name+".gz"), packed, 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(r.built, "stockrewards.1"), []byte(page), 0o600)
}
