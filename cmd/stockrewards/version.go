package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the release; the build adds the source revision.
const version = "0.1.0"

type versionCommand struct{}

func (*versionCommand) Run() error {
	built := revision()
	if built != "" {
		built = " (" + built + ")"
	}
	_, err := fmt.Printf("stockrewards %s%s %s %s/%s\n",
		version, built, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// revision is the commit that the program was built from; "" when unknown.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			const short = 12
			return setting.Value[:min(short, len(setting.Value))]
		}
	}
	return ""
}
