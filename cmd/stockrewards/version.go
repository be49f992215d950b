package main

import (
	"runtime"
	"runtime/debug"

	"stockrewards/internal/audit/reader"
)

// version is the release. The linker replaces it: see tools/release.
var version = "0.1.0"

type versionCommand struct {
	JSON bool `name:"json" help:"Print one JSON object, with the versions of the database schemas."`
}

// build is what `version --json` prints.
type build struct {
	Version    string         `json:"version"`
	Revision   string         `json:"revision,omitempty"`   // the commit
	CommitTime string         `json:"commitTime,omitempty"` // RFC 3339
	Modified   bool           `json:"modified"`             // the source differed from the commit
	Go         string         `json:"go"`
	OS         string         `json:"os"`
	Arch       string         `json:"arch"`
	Schemas    map[string]int `json:"schemas"` // by engine
}

// Run prints the version.
func (c *versionCommand) Run() error {
	b := thisBuild()
	if c.JSON {
		return printJSON(b)
	}
	built := ""
	if b.Revision != "" {
		built = " (" + revision() + ")"
	}
	sayf("stockrewards %s%s %s %s/%s\n", b.Version, built, b.Go, b.OS, b.Arch)
	return nil
}

// thisBuild describes the running program.
func thisBuild() build {
	b := build{
		Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Schemas: reader.Schemas(),
	}
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return b
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Revision = setting.Value
		case "vcs.time":
			b.CommitTime = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	return b
}

// revision is the short hash of the commit that the program was built from; "" when unknown.
func revision() string {
	const short = 12
	hash := thisBuild().Revision
	return hash[:min(short, len(hash))]
}
