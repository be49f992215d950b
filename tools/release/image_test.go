package main_test

import (
	"crypto/x509"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var imageArchive = "stockrewards_" + version + "_oci.tar"

// descriptor is a reference of an OCI layout.
type descriptor struct {
	Digest   string
	Platform struct{ Architecture string }
}

// blob reads what a descriptor refers to.
func blob(t *testing.T, layout string, d descriptor, into any) string {
	t.Helper()
	path := filepath.Join(layout, "blobs", strings.Replace(d.Digest, ":", "/", 1))
	if into != nil {
		text, err := os.ReadFile(path)
		check(t, err)
		check(t, json.Unmarshal(text, into))
	}
	return path
}

// rootOf unpacks the image for amd64, and returns its root and its configuration.
func rootOf(t *testing.T) (root string, config map[string]any) {
	t.Helper()
	layout := unpacked(t, filepath.Join(dist, imageArchive))
	var top, index struct{ Manifests []descriptor }
	text, err := os.ReadFile(filepath.Join(layout, "index.json"))
	check(t, err)
	check(t, json.Unmarshal(text, &top))
	blob(t, layout, top.Manifests[0], &index)
	if index.Manifests[0].Platform.Architecture != "amd64" {
		t.Fatalf("%+v", index)
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	blob(t, layout, index.Manifests[0], &manifest)
	var file struct{ Config map[string]any }
	blob(t, layout, manifest.Config, &file)
	root = t.TempDir()
	for path := root; path != "/" && path != os.TempDir(); path = filepath.Dir(path) {
		check(t, os.Chmod(path, 0o755))
	}
	for _, layer := range manifest.Layers {
		output(t, "tar", "--numeric-owner", "-xpf", blob(t, layout, layer, nil), "-C", root)
	}
	return root, file.Config
}

// The image runs as the user that it names, in a root that has nothing but the image.
func TestImage(t *testing.T) {
	t.Parallel()
	root, config := rootOf(t)
	text, err := json.Marshal(config)
	check(t, err)
	contains(t, string(text), `"User":"65532:65532"`, `"StopSignal":"SIGTERM"`, `"Volumes":{"/data":{}}`,
		`"Entrypoint":["/usr/bin/stockrewards"]`, `"Cmd":["serve"]`, `"WorkingDir":"/data"`)
	authorities, err := os.ReadFile(root + "/etc/ssl/certs/ca-certificates.crt")
	check(t, err)
	if n := strings.Count(string(authorities), "BEGIN CERTIFICATE"); n < 100 || !x509.NewCertPool().AppendCertsFromPEM(authorities) {
		t.Errorf("%d authorities", n)
	}
	admin := freeAddress(t)
	inside := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "/usr/bin/stockrewards", args...)
		cmd.Dir = "/data"
		cmd.Env = []string{
			"HOME=/data", "STOCKREWARDS_DATABASE=sqlite:/data/rewards.db", "STOCKREWARDS_LISTEN=127.0.0.1:0",
			"STOCKREWARDS_ADMIN_LISTEN=" + admin, "TZ=America/New_York",
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}, Pdeathsig: syscall.SIGKILL,
		}
		return cmd
	}
	out, err := inside("app", "create", "shop").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "sr_test_") {
		t.Fatalf("%v\n%s", err, out)
	}
	serve := inside()
	serve.Args = append(serve.Args, "serve")
	log := background(t, serve)
	deadline := time.Now().Add(30 * time.Second)
	for out, err = inside("health").CombinedOutput(); err != nil; out, err = inside("health").CombinedOutput() {
		if time.Now().After(deadline) {
			t.Fatalf("%v\n%s\n%s", err, out, log)
		}
		time.Sleep(50 * time.Millisecond)
	}
	check(t, serve.Process.Signal(syscall.SIGTERM))
	if err := serve.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, log)
	}
	// The program has the time zone that no file of the image has.
	if !regexp.MustCompile(`"time":"[^"]+-0[45]:00"`).MatchString(log.String()) {
		t.Errorf("the log is not in New York's time:\n%s", log)
	}
}

// podman loads and runs the image without any right, and stops it in order.
func TestPodman(t *testing.T) {
	t.Parallel()
	if !*long {
		return // it needs podman, and the rights to run containers
	}
	// runc also runs where cgroups are of both versions; the limits are lower than any host's.
	podman := func(args ...string) string {
		t.Helper()
		return strings.TrimSpace(output(t, "podman", append([]string{"--runtime", "runc"}, args...)...))
	}
	limits := []string{"--ulimit", "nofile=1024:1024", "--ulimit", "nproc=512:512", "--read-only", "--cap-drop", "ALL"}
	contains(t, podman("load", "-q", "-i", filepath.Join(dist, imageArchive)), "localhost/stockrewards:"+version)
	const image, volume = "localhost/stockrewards:" + version, "stockrewards-release-test"
	t.Cleanup(func() {
		_ = exec.Command("podman", "volume", "rm", "-f", volume).Run()
		_ = exec.Command("podman", "rmi", "-f", image).Run()
	})
	options := append(slices.Clone(limits), "-v", volume+":/data", "-e", "STOCKREWARDS_LISTEN=0.0.0.0:8080",
		"-e", "STOCKREWARDS_BEHIND_PROXY=true", "-e", "STOCKREWARDS_ADMIN_LISTEN=127.0.0.1:8081")
	contains(t, podman(append(append([]string{"run", "--rm"}, options...), image, "app", "create", "shop")...), "sr_test_")
	id := podman(append(append([]string{"run", "-d"}, options...), image)...)
	t.Cleanup(func() { _ = exec.Command("podman", "rm", "-f", id).Run() })
	deadline := time.Now().Add(30 * time.Second)
	for exec.CommandContext(t.Context(), "podman", "--runtime", "runc", "exec", id, "stockrewards", "health").Run() != nil {
		if time.Now().After(deadline) {
			t.Fatal(podman("logs", id))
		}
		time.Sleep(100 * time.Millisecond)
	}
	podman("stop", "-t", "30", id)
	if got := podman("inspect", id, "-f", "{{.State.ExitCode}}"); got != "0" {
		t.Errorf("exit status %s\n%s", got, podman("logs", id))
	}
}
