package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

type runCommand struct {
	Only        string        `default:"." placeholder:"REGEXP" help:"Measure only the parts whose names match; see --list."`
	List        bool          `help:"Print the names of the parts."`
	Engines     []string      `enum:"sqlite,postgres" default:"sqlite,postgres" help:"Measure these engines (default ${default})."`
	Rounds      int           `default:"5" help:"Number of rounds, of which the report has the medians (default ${default})."`
	Seconds     int           `default:"3" help:"Duration of a measurement, in whole seconds (default ${default})."`
	WarmUp      int           `default:"1" help:"Duration of the same load before a measurement, in whole seconds (default ${default})."`
	EndToEnd    time.Duration `default:"60s" help:"Duration of the load at a fixed rate (default ${default})."`
	Share       []float64     `placeholder:"SHARE" help:"The fixed rates as shares of the bare server's with 64 connections (default: the least and the aim of each engine)."`
	Overload    int           `default:"10" help:"Duration of the load over ten times the connections, in whole seconds (default ${default})."`
	FloodRounds int           `default:"1" help:"Number of rounds of the floods (default ${default})."`
	Users       int           `default:"10000" help:"Number of users who get rewards (default ${default})."`
	Holders     int           `default:"2000" help:"Number of users with five holdings (default ${default})."`
	Million     float64       `placeholder:"N" help:"Also measure stores with N million bought rewards, made by this run; then --waiting."`
	Waiting     float64       `placeholder:"N" help:"With --million: also with N million rewards that wait."`
	Cold        bool          `negatable:"" default:"true" help:"With --million: also measure with an empty page cache, which slows down the whole machine for a while (default)."`
	Data        string        `type:"existingdir" placeholder:"DIR" help:"Keep the stores in this folder, on a real disk (default: the system's temporary folder)."`
	Markdown    string        `placeholder:"FILE" help:"Write the report to this file too."`

	Binary      string `type:"existingfile" placeholder:"FILE" help:"Measure this stockrewards (default: build it)."`
	SqliteFile  string `type:"existingfile" placeholder:"FILE" help:"Measure over this filled store, with paper.db beside it. Changes it: pass a copy."`
	PostgresURL string `name:"postgres-url" placeholder:"URL" help:"Measure over this filled store, with --paper-file. Changes it: pass a copy."`
	PaperFile   string `placeholder:"FILE" help:"The paper brokerage's books of --postgres-url (default: new books)."`
	PostgresPID int    `name:"postgres-pid" placeholder:"PID" help:"Also measure the CPU time of this PostgreSQL process and its children."`
	App         string `placeholder:"NAME" help:"Create a key of this app in a filled store (default: the first app)."`
	OwnUsers    bool   `help:"Create users and rewards in a filled store instead of requesting existing ones."`
}

// output ends the run when its reader is gone.
type output struct {
	io.Writer

	stop context.CancelCauseFunc
}

// Write implements io.Writer.
func (w output) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	if err != nil {
		w.stop(err)
	}
	return n, err
}

type harness struct {
	runCommand
	only    *regexp.Regexp
	out     io.Writer
	folder  string // of all files of the run
	binary  string
	script  string
	ends    closers
	ceiling *target
	engines []*target
	results []result // in order of measurement
	report  report
}

// Run measures.
func (c *runCommand) Run(ctx context.Context) (err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // writing fails instead, and the run cleans up
	h := &harness{runCommand: *c, out: output{os.Stdout, stop}}
	if h.only, err = regexp.Compile(c.Only); err != nil {
		return fmt.Errorf("--only: %w", err)
	}
	if c.List {
		for _, one := range cases() {
			h.say("%s\n", one.name)
		}
		h.say("%s\n%s\n%s\n%s\n%s\n", partEndToEnd, partOverload, partFlood, partEvents, partGrowth)
		return nil
	}
	const least = 64
	if c.Rounds < 1 || c.Seconds < 1 || c.WarmUp < 0 || c.Users < least || c.Holders < 1 || c.FloodRounds < 1 {
		return fmt.Errorf("--rounds, --flood-rounds, --seconds and --holders must be above 0, --users at least %d",
			least)
	}
	defer func() { err = errors.Join(err, h.ends.close()) }()
	if err := h.start(ctx); err != nil {
		return err
	}
	if err := h.measure(ctx); err != nil {
		return err
	}
	return h.write()
}

func (h *harness) start(ctx context.Context) (err error) {
	if _, err := exec.LookPath("wrk"); err != nil {
		return errors.New("cannot find wrk: run tools/install.sh wrk")
	}
	if h.folder, err = os.MkdirTemp(h.Data, "stockrewards-bench"); err != nil {
		return err
	}
	h.ends.add(func() error { return os.RemoveAll(h.folder) })
	const searchable = 0o711 // for PostgreSQL's user, who has a folder in it
	if err := os.Chmod(h.folder, searchable); err != nil {
		return err
	}
	h.script = filepath.Join(h.folder, "load.lua")
	if err := os.WriteFile(h.script, []byte(loadScript), 0o600); err != nil {
		return err
	}
	if err := h.build(ctx); err != nil {
		return err
	}
	if h.report.machine, err = h.describe(ctx); err != nil {
		return err
	}
	if h.ceiling, err = h.startCeiling(ctx); err != nil {
		return err
	}
	for _, engine := range []struct {
		name  string
		start func(context.Context) (*target, error)
	}{{nameSQLite, h.startSQLite}, {namePostgres, h.startPostgres}} {
		if !slices.Contains(h.Engines, engine.name) {
			continue
		}
		t, err := engine.start(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", engine.name, err)
		}
		h.engines = append(h.engines, t)
	}
	return nil
}

// build builds the service as it is released.
func (h *harness) build(ctx context.Context) error {
	if h.binary = h.Binary; h.binary != "" {
		return nil
	}
	h.binary = filepath.Join(h.folder, "stockrewards")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", h.binary, "stockrewards/cmd/stockrewards")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

func (h *harness) measure(ctx context.Context) (err error) {
	if h.report.sync, err = syncTime(h.folder); err != nil {
		return err
	}
	h.say("fdatasync of 4 KiB: median %s (%s to %s)\n\n", short(h.report.sync.Median),
		short(h.report.sync.Least), short(h.report.sync.Most))
	for round := range h.Rounds {
		for _, c := range chosen(h.only) {
			if err := h.measureCase(ctx, c, round); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	for _, t := range h.engines {
		now, most, err := memory(t.serve.pid())
		if err != nil {
			return err
		}
		h.report.processes = append(h.report.processes, processReport{t.name, t.started, now, most})
	}
	for _, part := range []struct {
		name  string
		asked bool
		run   func(context.Context) error
	}{
		{partEndToEnd, h.EndToEnd > 0, h.endToEnd},
		{partOverload, h.Overload > 0, h.overload},
		{partFlood, true, h.flood},
		{partEvents, true, h.events},
		{partGrowth, h.Million > 0, h.growth},
	} {
		if part.asked && h.only.MatchString(part.name) {
			if err := part.run(ctx); err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
		}
	}
	return nil
}

func (h *harness) say(format string, args ...any) { fmt.Fprintf(h.out, format, args...) }

// describe returns the description of the machine, and warns when the folder is in memory.
func (h *harness) describe(ctx context.Context) ([]string, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(h.folder, &disk); err != nil {
		return nil, err
	}
	const tmpfs, ramfs = 0x01021994, 0x858458f6
	where := h.folder
	if disk.Type == tmpfs || disk.Type == ramfs {
		where += " (IN MEMORY: durability costs nothing there)"
		h.say("WARNING: %s is in memory, where syncs cost nothing: set --data to a folder on a disk\n", h.folder)
	}
	return machine(ctx, where, "go run ./bench "+strings.Join(os.Args[1:], " ")), nil
}
