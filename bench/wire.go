package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// wire sends requests over one connection of HTTP/1.1, which it opens again when it breaks. It
// takes a fraction of net/http's processor time, which the service needs on the same machine.
type wire struct {
	dial func(ctx context.Context) (net.Conn, error)
	conn net.Conn
	in   *bufio.Reader
}

// post sends a JSON body and returns the status of the answer.
func (w *wire) post(ctx context.Context, head, body string) (status string, err error) {
	if w.conn == nil {
		if w.conn, err = w.dial(ctx); err != nil {
			return "", err
		}
		w.in = bufio.NewReader(w.conn)
	}
	status, last, err := w.exchange(head + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
	if err != nil || last {
		w.close()
	}
	return status, err
}

func (w *wire) close() {
	if w.conn != nil {
		_ = w.conn.Close()
		w.conn = nil
	}
}

// exchange sends a request and reads the answer. It reports whether the connection ends then.
func (w *wire) exchange(request string) (status string, last bool, err error) {
	const patience = time.Minute
	if err := w.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", false, err
	}
	if _, err := w.conn.Write([]byte(request)); err != nil {
		return "", false, err
	}
	line, err := w.in.ReadSlice('\n')
	if err != nil {
		return "", false, err
	}
	fields := bytes.Fields(line)
	if len(fields) < 2 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return "", false, fmt.Errorf("cannot parse the status line %q", line)
	}
	status = string(fields[1])
	length := -1
	for {
		if line, err = w.in.ReadSlice('\n'); err != nil {
			return "", false, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return "", false, err
			}
		case bytes.EqualFold(name, []byte("Connection")):
			last = bytes.EqualFold(value, []byte("close"))
		}
	}
	if length < 0 {
		return "", false, errors.New("the answer has no Content-Length")
	}
	_, err = w.in.Discard(length)
	return status, last, err
}
