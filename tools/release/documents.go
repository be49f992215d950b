package main

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
)

// documents returns the documents of an archive. Links to files that the archive lacks are not in them.
func (r release) documents() (files []file, err error) {
	source := os.DirFS(r.source)
	names := []string{"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"}
	err = fs.WalkDir(source, "docs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	packed := make(map[string]bool, len(names))
	for _, name := range names {
		packed[name] = true
	}
	for _, name := range names {
		content, err := fs.ReadFile(source, name)
		if err != nil {
			return nil, err
		}
		if path.Ext(name) == ".md" {
			content = unlinked(content, path.Dir(name), packed)
		}
		files = append(files, file{name: name, mode: 0o644, content: content})
	}
	return files, nil
}

var link = regexp.MustCompile(`!?\[([^\[\]]*)\]\(([^()\s]+)\)`)

// unlinked replaces each link from a page of a folder to a file that is not packed by the link's text.
func unlinked(page []byte, folder string, packed map[string]bool) []byte {
	return link.ReplaceAllFunc(page, func(whole []byte) []byte {
		parts := link.FindSubmatch(whole)
		target, _, _ := strings.Cut(string(parts[2]), "#")
		if target == "" || strings.Contains(target, ":") || packed[path.Join(folder, target)] {
			return whole
		}
		return parts[1]
	})
}
