package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"stockrewards/internal/config"
	"stockrewards/internal/dbfile"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store/sqlite"
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

// lock makes the folder and keeps other runs out of it: their files have the same names.
func (f secretFiles) lock() (unlock func() error, err error) {
	if f.folder == "" {
		return func() error { return nil }, nil
	}
	const ownerOnly = 0o700
	if err := os.MkdirAll(f.folder, ownerOnly); err != nil {
		return nil, err
	}
	unlock, err = sqlite.LockFile(filepath.Join(f.folder, ".lock"))
	if errors.Is(err, sqlite.ErrLocked) {
		err = fmt.Errorf("another `apply` writes to %s now, so nothing was changed: repeat the command after its end",
			f.folder)
	}
	return unlock, err
}

// pending is the ending of a file whose secret may not be in use.
const pending = ".new"

// keep stores a secret, makes what has it, and only then gives the file its name. So no secret that
// is in use is lost: the next run finds that of an interrupted one.
func (f secretFiles) keep(label, name, text string, use func() error) (secret, error) {
	if f.folder == "" {
		return secret{label: label, text: text}, use()
	}
	path := filepath.Join(f.folder, name)
	if err := writeSecret(path+pending, text); err != nil {
		return secret{}, err
	}
	if err := use(); err != nil { // after a lost connection it may be in use
		return secret{}, err
	}
	return secret{label: label, file: path}, errors.Join(os.Rename(path+pending, path), dbfile.SyncFolder(f.folder))
}

// writeSecret writes a file that only its owner can read, durably.
func writeSecret(path, text string) error {
	const ownerOnly = 0o600
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, ownerOnly)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text + "\n")
	return errors.Join(err, file.Sync(), file.Close(), dbfile.SyncFolder(filepath.Dir(path)))
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

// recover names the files of an interrupted run whose secrets are in use.
func (m *maker) recover(ctx context.Context, c *applyCommand, file config.File) error {
	for _, a := range file.Apps {
		err := m.settle(keyFile(a.Name), func(text string) (bool, error) {
			_, owner, err := m.store.AppByKey(ctx, rewards.HashKey(text))
			if rewards.CodeOf(err) == rewards.CodeNotFound {
				return false, nil
			}
			return owner.Name == a.Name, err
		})
		if err != nil {
			return err
		}
		if a.Endpoints == nil {
			continue
		}
		for _, e := range *a.Endpoints {
			err := m.settle(webhookFile(a.Name, e.URL), func(text string) (bool, error) {
				return m.signs(ctx, c, a.Name, e.URL, text)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// settle names the file of a secret if an interrupted run left it and it is in use.
func (m *maker) settle(name string, inUse func(text string) (bool, error)) error {
	path := filepath.Join(m.files.folder, name)
	text, err := os.ReadFile(path + pending)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	used, err := inUse(strings.TrimSpace(string(text)))
	if err != nil || !used {
		return err
	}
	fsayf(os.Stderr, "%s is of an interrupted run\n", path)
	return os.Rename(path+pending, path)
}

// signs reports whether an endpoint has a secret.
func (m *maker) signs(ctx context.Context, c *applyCommand, app, address, text string) (bool, error) {
	a, err := m.store.App(ctx, app)
	if rewards.CodeOf(err) == rewards.CodeNotFound {
		return false, nil
	}
	if err == nil && m.keyring == nil {
		err = m.openKeyring(ctx, c.databaseFlag, c.WebhookKeyFile)
	}
	if err != nil {
		return false, err
	}
	list, err := m.store.AllWebhookEndpoints(ctx)
	for _, e := range list {
		if e.AppID == a.ID && e.URL == address {
			made, err := m.keyring.Open(a.ID, e.Secret)
			return err == nil && rewards.ShowWebhookSecret(made) == text, err
		}
	}
	return false, err
}
