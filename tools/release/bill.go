package main

import (
	"bytes"
	"debug/buildinfo"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// bill writes the software bill of materials of a platform's program, in CycloneDX's JSON: the
// modules that Go recorded in the program, and Go's standard library.
func (r release) bill(p platform) error {
	info, err := buildinfo.ReadFile(r.binary(p))
	if err != nil {
		return err
	}
	program := golang("stockrewards", r.version)
	program.Type = cyclonedx.ComponentTypeApplication
	program.Properties = &[]cyclonedx.Property{
		{Name: "vcs.revision", Value: r.commit.hash}, {Name: "go.os", Value: p.os}, {Name: "go.arch", Value: p.arch},
	}
	components := []cyclonedx.Component{golang("stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		components = append(components, golang(module.Path, module.Version))
	}
	refs := make([]string, len(components))
	for i, c := range components {
		refs[i] = c.BOMRef
	}
	document := cyclonedx.NewBOM()
	document.Metadata = &cyclonedx.Metadata{Timestamp: r.commit.time.Format(time.RFC3339), Component: &program}
	document.Components = &components
	document.Dependencies = &[]cyclonedx.Dependency{{Ref: program.BOMRef, Dependencies: &refs}}
	var b bytes.Buffer
	encoder := cyclonedx.NewBOMEncoder(&b, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.EncodeVersion(document, cyclonedx.SpecVersion1_6); err != nil {
		return err
	}
	return r.write(r.title(p)+".cdx.json", b.Bytes())
}

// golang is a module of Go.
func golang(path, version string) cyclonedx.Component {
	url := "pkg:golang/" + path + "@" + version
	return cyclonedx.Component{
		Type: cyclonedx.ComponentTypeLibrary, BOMRef: url, Name: path, Version: version, PackageURL: url,
	}
}
