package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"stockrewards/internal/config"
	"stockrewards/internal/rewards"
)

// secret is a new key of an app, or the secret of a new endpoint.
type secret struct {
	label string // "key" or "secret"; "" without one
	text  string // "" if it is in a file
	file  string
}

// say prints the secret, or where it is.
func (s secret) say() {
	switch {
	case s.file != "":
		sayf("    %s: in %s\n", s.label, s.file)
	case s.label != "":
		sayf("    %s: %s\n", s.label, s.text)
	}
}

// secretFiles is a folder in which new secrets are kept; "" prints them instead.
type secretFiles struct{ folder string }

// pending is the ending of a file whose secret may not be in use.
const pending = ".new"

// keep stores a secret, makes what has it, and only then gives the file its name. So no secret that
// is in use is lost: the next run finds that of an interrupted one. Until then the file's name is of this run alone:
// another one at the same time may make the same, and one of them fails.
func (f secretFiles) keep(label, name, text string, use func() error) (secret, error) {
	if f.folder == "" {
		return secret{label: label, text: text}, use()
	}
	path := filepath.Join(f.folder, name)
	made, err := writeSecret(path, text)
	if err != nil {
		return secret{}, err
	}
	if err := use(); err != nil { // after a lost connection it may be in use
		if rewards.CodeOf(err) == rewards.CodeConflict {
			err = errors.Join(err, os.Remove(made))
		}
		return secret{}, err
	}
	return secret{label: label, file: path}, os.Rename(made, path)
}

// writeSecret writes a new file that only its owner can read, durably. It returns its name.
func writeSecret(path, text string) (string, error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+pending) // its mode is 0600
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text + "\n")
	return file.Name(), errors.Join(err, file.Sync(), file.Close())
}

// keyFile is the name of the file for an app's key.
func keyFile(app string) string { return fileName(app) + ".key" }

// webhookFile is the name of the file for an endpoint's secret.
func webhookFile(app, address string) string {
	host := ""
	if u, err := url.Parse(address); err == nil {
		host = u.Hostname()
	}
	const digits = 4
	sum := sha256.Sum256([]byte(address))
	return fileName(app+" "+host) + "-" + hex.EncodeToString(sum[:digits]) + ".secret"
}

// fileName turns a name into one of a file.
func fileName(name string) string {
	const most = 150
	escaped := url.QueryEscape(name)
	if len(escaped) <= most {
		return escaped
	}
	sum := sha256.Sum256([]byte(name))
	return escaped[:most] + hex.EncodeToString(sum[:])
}

// prepare checks what must hold before anything changes. It names the files of an interrupted run
// whose secrets are in use.
func (m *maker) prepare(ctx context.Context, c *applyCommand, file config.File, changes []config.Change) error {
	adds := false // an endpoint
	for _, change := range changes {
		adds = adds || change.Kind == config.KindWebhook && change.Sign == config.Add
	}
	if adds {
		if err := m.openKeyring(ctx, c.databaseFlag, c.WebhookKeyFile); err != nil {
			return err
		}
	}
	if m.files.folder == "" {
		return nil
	}
	const ownerOnly = 0o700
	if err := os.MkdirAll(m.files.folder, ownerOnly); err != nil {
		return err
	}
	for _, change := range changes {
		name := keyFile(change.App)
		switch {
		case change.Sign != config.Add || change.Kind == config.KindBudget:
			continue
		case change.Kind == config.KindWebhook:
			name = webhookFile(change.App, change.Name)
		}
		path := filepath.Join(m.files.folder, name)
		if _, err := os.Stat(path); err == nil {
			return usageErrorf("%s exists, and %s is new: move the file away first; nothing was changed",
				path, change.Object())
		}
	}
	return m.recover(ctx, c, file)
}

// recover names the files of interrupted runs whose secrets are in use, and removes those whose secrets nothing has.
func (m *maker) recover(ctx context.Context, c *applyCommand, file config.File) error {
	for _, a := range file.Apps {
		err := m.settle(keyFile(a.Name), func(text string) (use, error) {
			return m.opens(ctx, a.Name, text)
		})
		if err != nil {
			return err
		}
		if a.Endpoints == nil {
			continue
		}
		for _, e := range *a.Endpoints {
			err := m.settle(webhookFile(a.Name, e.URL), func(text string) (use, error) {
				return m.signs(ctx, c, a.Name, e.URL, text)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// use is what has a secret.
type use int

const (
	mayBeUsed use = iota // by another run, or by another app
	used
	neverUsed // what it was made for has another one
)

// settle names the file of a secret if an interrupted run left it and it is in use.
func (m *maker) settle(name string, find func(text string) (use, error)) error {
	entries, err := os.ReadDir(m.files.folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), name+".") || !strings.HasSuffix(entry.Name(), pending) {
			continue
		}
		made, path := filepath.Join(m.files.folder, entry.Name()), filepath.Join(m.files.folder, name)
		text, err := os.ReadFile(made)
		if errors.Is(err, fs.ErrNotExist) { // another run has named it
			continue
		}
		if err != nil {
			return err
		}
		found, err := find(strings.TrimSpace(string(text)))
		switch {
		case err != nil:
			return err
		case found == neverUsed:
			err = os.Remove(made)
		case found == used:
			fsayf(os.Stderr, "%s is of an interrupted run\n", path)
			err = os.Rename(made, path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// opens finds out whether an app has a key.
func (m *maker) opens(ctx context.Context, app, text string) (use, error) {
	_, owner, err := m.store.AppByKey(ctx, rewards.HashKey(text))
	switch {
	case err == nil && owner.Name == app:
		return used, nil
	case rewards.CodeOf(err) != rewards.CodeNotFound:
		return mayBeUsed, err
	}
	if _, err = m.store.App(ctx, app); rewards.CodeOf(err) == rewards.CodeNotFound {
		return mayBeUsed, nil
	}
	return neverUsed, err
}

// signs finds out whether an endpoint has a secret.
func (m *maker) signs(ctx context.Context, c *applyCommand, app, address, text string) (use, error) {
	a, err := m.store.App(ctx, app)
	if rewards.CodeOf(err) == rewards.CodeNotFound {
		return mayBeUsed, nil
	}
	if err == nil && m.keyring == nil {
		err = m.openKeyring(ctx, c.databaseFlag, c.WebhookKeyFile)
	}
	if err != nil {
		return mayBeUsed, err
	}
	list, err := m.store.AllWebhookEndpoints(ctx)
	for _, e := range list {
		if e.AppID != a.ID || e.URL != address {
			continue
		}
		made, err := m.keyring.Open(a.ID, e.Secret)
		if err == nil && rewards.ShowWebhookSecret(made) == text {
			return used, nil
		}
		return neverUsed, err
	}
	return mayBeUsed, err
}
