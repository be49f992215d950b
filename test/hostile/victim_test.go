package hostile

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"stockrewards/test/world"
)

// victim is a service whose broker is hostile.
type victim struct {
	t      *testing.T
	broker *hostile
	folder string
	key    string // of its app
	user   string
	served *world.Process // nil: not started
}

// newVictim creates a service with a new database, not started yet.
func newVictim(t *testing.T) *victim {
	t.Helper()
	v := &victim{t: t, broker: newHostile(t), folder: t.TempDir()}
	v.key = strings.TrimSpace(v.command("app", "create", "tester"))
	t.Cleanup(func() {
		if v.served != nil {
			v.served.Kill()
		}
	})
	return v
}

func (v *victim) run(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, append(args, "--database", "sqlite:"+filepath.Join(v.folder, "rewards.db"))...)
	cmd.Env = append(os.Environ(), "APCA_API_KEY_ID=key", "APCA_API_SECRET_KEY=secret")
	return cmd
}

func (v *victim) try(args ...string) (string, error) {
	v.t.Helper()
	out, err := v.run(args...).CombinedOutput()
	return string(out), err
}

func (v *victim) command(args ...string) string {
	v.t.Helper()
	out, err := v.try(args...)
	if err != nil {
		v.t.Fatalf("stockrewards %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// serve starts the service over its broker and waits until it listens.
func (v *victim) serve() {
	v.t.Helper()
	v.served = world.Launch(v.t, "serve", v.run(append([]string{
		"serve", "--listen", "127.0.0.1:0", "--pooling-window", "0s", "--small-pool-wait", "0s",
	}, v.broker.flags()...)...))
	if v.user == "" {
		var got struct{ User struct{ ID string } }
		v.must(201, "POST", "/v1/users", `{"externalId":"anna"}`, &got)
		v.user = got.User.ID
	}
}

func (v *victim) stop() {
	v.t.Helper()
	world.Check(v.t, v.served.Cmd.Process.Signal(syscall.SIGTERM))
	if err := <-v.served.Exited; err != nil {
		v.t.Fatalf("serve ended with %v\n%s", err, v.logs())
	}
	v.served = nil
}

func (v *victim) logs() string { return world.ReadLog(v.t, "serve") }

// must asks, wants the status and decodes the answer into what is given, if anything.
func (v *victim) must(status int, method, path, body string, into any) {
	v.t.Helper()
	world.Ask(v.t, status, v.key, method, v.served.URL+path, body, into)
}

type award struct {
	ID, Status string
	ExecutedAt time.Time
}

func (v *victim) give(key, amount, symbol string) award {
	v.t.Helper()
	var got struct{ Reward award }
	v.must(201, "POST", "/v1/rewards", fmt.Sprintf(
		`{"userId":%q,"idempotencyKey":%q,"amountUsd":%s,"assetSymbol":%q}`, v.user, key, amount, symbol), &got)
	return got.Reward
}

func (v *victim) await(id, status string, most time.Duration) award {
	v.t.Helper()
	var got struct{ Reward award }
	v.within("the reward is "+status, most, func() bool {
		v.must(200, "GET", "/v1/rewards/"+id, "", &got)
		return got.Reward.Status == status
	})
	return got.Reward
}

func (v *victim) within(what string, most time.Duration, holds func() bool) {
	v.t.Helper()
	for deadline := time.Now().Add(most); ; time.Sleep(50 * time.Millisecond) {
		late := time.Now().After(deadline) // the last look begins after the time is over
		if holds() {
			return
		}
		if late {
			status, _ := v.try("fulfillment", "status")
			orders, _ := v.try("order", "list")
			v.t.Fatalf("%s: not within %s\n%s\n%s\n%s", what, most, status, orders, v.logs())
		}
	}
}

// orderIn waits until an order is in the state and returns its row of the list.
func (v *victim) orderIn(state string, most time.Duration) (row string) {
	v.t.Helper()
	v.within("an order is "+state, most, func() bool {
		rows := strings.Split(v.command("order", "list", "--state", state), "\n")
		if len(rows) > 2 {
			row = rows[1]
		}
		return row != ""
	})
	return row
}

func (v *victim) alarmed(name string, most time.Duration) {
	v.t.Helper()
	v.within("the alarm "+name, most, func() bool {
		return strings.Contains(v.command("fulfillment", "status"), name)
	})
}

// sends checks how many orders were sent by the end of a pause in which more would be.
func (v *victim) sends(want int, pause time.Duration) {
	v.t.Helper()
	time.Sleep(pause)
	if got := v.broker.submissions(); got != want {
		v.t.Errorf("%d orders were sent, want %d", got, want)
	}
}

// holding is the user's holding of the only stock.
func (v *victim) holding() (quantity, value string) {
	v.t.Helper()
	var got struct {
		Holdings []struct{ Quantity, Value json.Number }
	}
	v.must(200, "GET", "/v1/users/"+v.user+"/portfolio", "", &got)
	if len(got.Holdings) == 0 {
		return "0", "0"
	}
	return got.Holdings[0].Quantity.String(), got.Holdings[0].Value.String()
}
