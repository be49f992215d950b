package webhook_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/webhook"
)

// Receivers that take long, but accept everything, do not hold up an endpoint of another app.
func TestSlowReceiversOfOthers(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		const slowApps = 5 // whose endpoints may have more open requests than all together
		var slow atomic.Bool
		type client struct {
			app   rewards.App
			users []rewards.User
		}
		clients := []client{{w.App, w.Users}}
		w.endpoint("https://quick/", accept)
		for app := range slowApps {
			w.App = w.NewApp(t, fmt.Sprint("slow", app))
			w.Users = []rewards.User{w.NewUser(t, w.App.ID, "user")}
			clients = append(clients, client{w.App, w.Users})
			for n := range rewards.MaxWebhookEndpoints {
				w.endpoint(fmt.Sprintf("https://slow%d-%d/", app, n), func(r webhook.Request) rewards.WebhookAnswer {
					if slow.Load() {
						time.Sleep(14 * time.Second)
					}
					return accept(r)
				})
			}
		}
		d, stop := w.dispatch("one")
		events := func(of client, n int) {
			w.App, w.Users = of.app, of.users
			w.events(n)
			d.Nudge()
		}
		time.Sleep(time.Second)
		for _, is := range []bool{false, true} { // at first the limits grow
			slow.Store(is)
			for _, c := range clients[1:] {
				events(c, 66)
			}
			time.Sleep(7 * time.Second)
		}
		events(clients[0], 20)
		time.Sleep(2 * time.Second)
		if n := len(w.received("https://quick/")); n != 20 {
			t.Errorf("%d of 20 events came after 2 s", n)
		}
		stop()
	})
}

// However many endpoints have receivers that do not answer, few of their events are in memory.
func TestManySlowEndpointsReadFew(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		const apps, each, most = 4, 200, 8192
		for app := range apps {
			w.App = w.NewApp(t, fmt.Sprint("slow", app))
			w.Users = []rewards.User{w.NewUser(t, w.App.ID, "user")}
			for n := range rewards.MaxWebhookEndpoints {
				w.endpoint(fmt.Sprintf("https://slow%d-%d/", app, n), nil)
			}
			w.events(each)
		}
		d, stop := w.dispatch("one")
		d.Nudge()
		time.Sleep(5 * time.Second)
		readers := int64(runtime.GOMAXPROCS(0))
		if n := w.read.Load(); n < most || n > most+(1+readers)*each {
			t.Errorf("%d events are in memory, of %d; want little more than %d", n, apps*rewards.MaxWebhookEndpoints*each, most)
		}
		stop()
	})
}

// What many endpoints were sent is stored in several transactions, because others wait for each.
func TestStoresSomeEndpointsAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		const each, most = 200, 500
		var all []rewards.WebhookEndpoint
		for n := range rewards.MaxWebhookEndpoints {
			all = append(all, w.endpoint(fmt.Sprintf("https://quick%d/", n), accept))
		}
		_, stop := w.dispatch("one")
		time.Sleep(time.Second)
		w.events(each)
		time.Sleep(5 * time.Second)
		stop()
		for _, e := range all {
			if n := w.statuses(e)[rewards.DeliveryDelivered]; n != each {
				t.Errorf("%d deliveries of an endpoint are stored, want %d", n, each)
			}
		}
		if n := w.stored.Load(); n < each || n > most {
			t.Errorf("%d deliveries were stored at once, want at most %d", n, most)
		}
	})
}

// Delivered events are trimmed although no courier lives long enough to deliver many.
func TestTrimsAfterRestarts(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.endpoint("https://a/", accept)
		for n := range 9 {
			d, stop := w.dispatch(fmt.Sprint("process", n))
			time.Sleep(time.Second)
			w.events(190)
			d.Nudge()
			time.Sleep(3 * time.Second)
			stop()
		}
		if n := w.statuses(e)[rewards.DeliveryDelivered]; n < 1000 || n > 1000+190 {
			t.Errorf("%d are stored", n)
		}
	})
}

// After a 410 no retry is sent, except those under way.
func TestGoneEndsRetries(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.schedule = []time.Duration{time.Second, time.Hour}
		w.endpoint("https://a/", refuse)
		d, stop := w.dispatch("one")
		time.Sleep(time.Second)
		w.events(300)
		d.Nudge()
		time.Sleep(40 * time.Minute)
		stop()
		var n, gone atomic.Int32
		w.receivers["https://a/"] = func(r webhook.Request) rewards.WebhookAnswer {
			time.Sleep(20 * time.Millisecond)
			if n.Add(1) <= 150 {
				return accept(r)
			}
			gone.Add(1)
			return rewards.WebhookAnswer{StatusCode: 410, Error: "gone"}
		}
		time.Sleep(3 * time.Hour)
		_, stop = w.dispatch("two")
		time.Sleep(time.Minute)
		if n := gone.Load(); n == 0 || n > 64 {
			t.Errorf("%d requests were answered 410, want at most the 64 under way", n)
		}
		stop()
	})
}

// A receiver that closes a kept connection while the next request comes has not failed.
func TestAClosedConnection(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				b := make([]byte, 4096)
				_, _ = c.Read(b)
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				_, _ = c.Read(b)
				_ = c.Close()
			}()
		}
	}()
	sender := webhook.NewSender(local(), "test")
	for n := range 4 {
		a := sender.Send(context.Background(), webhook.Request{
			URL: "http://" + l.Addr().String(), Body: []byte("{}"), Secrets: [][]byte{make([]byte, 32)}, At: time.Now(),
		})
		if !a.Success() {
			t.Errorf("request %d: %+v", n, a)
		}
	}
	check(t, l.Close())
}
