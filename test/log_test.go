package test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"stockrewards/test/world"
)

// unread starts a command whose standard error is a nearly full pipe that nobody reads.
func unread(t *testing.T, args ...string) (cmd *exec.Cmd, exited chan error, reader *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	noError(t, err)
	t.Cleanup(func() { _ = reader.Close() })
	const capacity, left = 64 << 10, 2 << 10
	if _, err := writer.Write(make([]byte, capacity-left)); err != nil {
		t.Fatal(err)
	}
	cmd, exited = exec.Command(binary, args...), make(chan error, 1)
	cmd.Stderr = writer
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	noError(t, cmd.Start())
	_ = writer.Close() // the command has a copy
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, exited, reader
}

// unreadServe starts serve with an unread log.
func unreadServe(t *testing.T) (s *service, cmd *exec.Cmd, exited chan error, reader *os.File) {
	t.Helper()
	s = newService(t, t.TempDir())
	address := world.FreeAddress(t)
	cmd, exited, reader = unread(t, "serve", "--listen", address, "--database", s.database())
	s.url = "http://" + address
	awaitAnswer(t, s.url+"/openapi.json")
	return s, cmd, exited, reader
}

// awaitAnswer waits until a URL answers.
func awaitAnswer(t *testing.T, url string) {
	t.Helper()
	eventually(t, "answer of "+url, 20*time.Second, func() bool {
		r, err := client.Get(url)
		if err == nil {
			_ = r.Body.Close()
		}
		return err == nil
	})
}

// endsOnTerm sends SIGTERM and checks that the command succeeds.
func endsOnTerm(t *testing.T, cmd *exec.Cmd, exited chan error) {
	t.Helper()
	noError(t, cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-exited:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("SIGTERM did not end it")
	}
}

// An unread log delays neither requests nor the shutdown.
func TestServeWithAnUnreadLog(t *testing.T) {
	t.Parallel()
	s, cmd, exited, _ := unreadServe(t)
	user := s.newUser("anna")
	for i := range 200 {
		s.must(200, "GET", "/v1/assets", "")
		if i%100 == 0 {
			s.await(s.give(user, fmt.Sprint("unread-", i), "5", "AAPL").ID, "executed", 20*time.Second)
		}
	}
	endsOnTerm(t, cmd, exited)
}

// The service continues without its log when the reader closes.
func TestServeWithAClosedLog(t *testing.T) {
	t.Parallel()
	s, cmd, exited, reader := unreadServe(t)
	user := s.newUser("anna")
	noError(t, reader.Close())
	for i := range 20 {
		s.give(user, fmt.Sprint("reader-gone-", i), "5", "AAPL")
		time.Sleep(20 * time.Millisecond)
	}
	endsOnTerm(t, cmd, exited)
}

// So do the paper brokerage and dev.
func TestOtherCommandsWithAnUnreadLog(t *testing.T) {
	t.Parallel()
	folder, address := t.TempDir(), world.FreeAddress(t)
	cmd, exited, _ := unread(t, "paper", "--listen", address, "--database", "sqlite:"+folder+"/paper.db")
	awaitAnswer(t, "http://"+address+"/v2/clock")
	endsOnTerm(t, cmd, exited)
	cmd, exited, _ = unread(t, "dev", "--verbose", "--listen", address, "--admin-listen", world.FreeAddress(t), "--data", folder+"/dev")
	awaitAnswer(t, "http://"+address+"/openapi.json")
	for range 50 {
		r, err := client.Get("http://" + address + "/v1/assets")
		if err != nil || r.StatusCode != http.StatusUnauthorized {
			t.Fatal(err)
		}
		_ = r.Body.Close()
	}
	endsOnTerm(t, cmd, exited)
}
