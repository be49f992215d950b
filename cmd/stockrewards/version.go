package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the program's release; the build adds what it was built from.
const version = "0.1.0"

type versionCommand struct{}

// Run prints the version.
func (*versionCommand) Run() error {
	_, err := fmt.Printf("stockrewards %s%s %s %s/%s\n",
		version, revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			const short = 12
			return " (" + setting.Value[:min(short, len(setting.Value))] + ")"
		}
	}
	return ""
}
