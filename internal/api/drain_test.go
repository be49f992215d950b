package api_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A large body without a valid key is not read: the 401 comes at once, and the
// connection closes long before the end of the body.
func TestAStrangersBodyIsNotRead(t *testing.T) {
	t.Parallel()
	const size = 60 << 20
	c := newApp(t)
	for _, framing := range []string{
		fmt.Sprintf("Content-Length: %d\r\n\r\n", size),
		fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", size),
	} {
		conn := dial(t, c.base, "POST /v1/users HTTP/1.1\r\nHost: x\r\n"+framing)
		sent := make(chan int64, 1)
		go func() {
			n, _ := io.CopyN(conn, spaces{}, size) // fails early
			sent <- n
		}()
		got, err := http.ReadResponse(bufio.NewReader(conn), nil)
		check(t, err)
		const buffered = 16 << 20 // of the kernel
		if n := <-sent; got.StatusCode != http.StatusUnauthorized || n > buffered {
			t.Errorf("%q: status %d after %d bytes", framing, got.StatusCode, n)
		}
		_ = got.Body.Close() // the connection is already closed
		_ = conn.Close()
	}
}

// A client without a key that announces a large body and sends nothing gets the 401 at once.
func TestARefusalDoesNotWaitForTheBody(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	started := time.Now()
	got := string(rawBytes(t, c, "POST /v1/users HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n"))
	if took := time.Since(started); !strings.HasPrefix(got, "HTTP/1.1 401 ") || took > 5*time.Second {
		t.Errorf("%.20q after %s", got, took)
	}
}

// A client that waits for 100 Continue has not sent its body, and is not waited for, whatever the length and the refusal.
func TestARefusalDoesNotWaitForAnAwaitedBody(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	for head, want := range map[string]string{
		"POST /v1/users HTTP/1.1\r\nContent-Length: 2":                                 "401",
		"POST /v1/users HTTP/1.1\r\nContent-Length: 70000":                             "401",
		"POST /v1/nothing HTTP/1.1\r\nContent-Length: 100":                             "404",
		"PUT /v1/users HTTP/1.1\r\nContent-Length: 100":                                "405",
		"POST /v1/users HTTP/1.1\r\nX-Api-Key: " + c.key + "\r\nContent-Length: 70000": "413",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			started := time.Now()
			conn := dial(t, c.base, head+"\r\nHost: x\r\nExpect: 100-continue\r\n\r\n")
			line, err := bufio.NewReader(conn).ReadString('\n')
			check(t, errors.Join(err, conn.Close()))
			if took := time.Since(started); !strings.HasPrefix(line, "HTTP/1.1 "+want) || took > 5*time.Second {
				t.Errorf("%q: %q after %s, want %s", head, line, took, want)
			}
		})
	}
}

// The rest of a refused body is read although the client waited for 100 Continue, when it has begun to send: otherwise the
// answer could be lost.
func TestTheRestOfAnAwaitedBodyIsRead(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	conn := dial(t, c.base, "POST /v1/users HTTP/1.1\r\nHost: x\r\nX-Api-Key: "+c.key+
		"\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n")
	answers := bufio.NewReader(conn)
	line, err := answers.ReadString('\n')
	check(t, err)
	if !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		t.Fatalf("got %q", line)
	}
	const pieces, size = 64, 32 << 10
	for range pieces {
		_, err := fmt.Fprintf(conn, "%x\r\n%s\r\n", size, strings.Repeat(" ", size))
		check(t, err)
		time.Sleep(time.Millisecond) // so that the server answers in between
	}
	_, err = io.WriteString(conn, "0\r\n\r\nGET /v1/assets HTTP/1.1\r\nHost: x\r\nX-Api-Key: "+c.key+"\r\n\r\n")
	check(t, err)
	_, err = answers.ReadString('\n') // the end of the 100
	check(t, err)
	for _, want := range []int{http.StatusRequestEntityTooLarge, http.StatusOK} {
		got, err := http.ReadResponse(answers, nil)
		check(t, err)
		_, err = io.Copy(io.Discard, got.Body)
		check(t, err)
		if got.StatusCode != want {
			t.Errorf("status %d, want %d", got.StatusCode, want)
		}
	}
}

// HTTP/1.0 has no 100 Continue: the client sends the body at once, and the response must
// arrive although the request is refused.
func TestExpectInAnOldVersionIsIgnored(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	body := strings.Repeat(" ", 200<<10)
	head := "POST /v1/users HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: " + fmt.Sprint(len(body))
	for range 20 {
		got := string(rawBytes(t, c, head+"\r\n\r\n"+body))
		if !strings.HasPrefix(got, "HTTP/1.0 401 ") || strings.Contains(got, "100 Continue") {
			t.Fatalf("got %.40q", got)
		}
	}
	user := `{"externalId":` + quote(unique("old")) + `}`
	head = "POST /v1/users HTTP/1.0\r\nExpect: 100-continue\r\nX-Api-Key: " + c.key + "\r\nContent-Length: " + fmt.Sprint(len(user))
	if got := string(rawBytes(t, c, head+"\r\n\r\n"+user)); !strings.HasPrefix(got, "HTTP/1.0 201 ") {
		t.Errorf("got %.40q", got)
	}
}

// spaces is an endless body of blanks.
type spaces struct{}

// Read implements io.Reader.
func (spaces) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}
