package service

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// connection is a client that decides when it sends what.
type connection struct {
	net.Conn
	t      *testing.T
	reader *bufio.Reader
}

func (r *running) dial(t *testing.T) *connection {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &connection{c, t, bufio.NewReader(c)}
}

func (c *connection) send(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c, format, args...); err != nil {
		c.t.Fatal(err)
	}
}

func (c *connection) begin(path string, length int) {
	c.t.Helper()
	c.send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", path, typeYAML, length)
}

func (c *connection) answer() answer {
	c.t.Helper()
	res, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

// TestStalledBody: a client that sends no more gets 408 and takes no slot; a large body has one.
func TestStalledBody(t *testing.T) {
	r := serve(t, func(c *Config) { c.Stall, c.Slots, c.Queue, c.MaxBody = time.Second, 1, 0, 4<<20 })
	for _, length := range []int{len(emptyList), 2 << 20} {
		c := r.dial(t)
		c.begin("/v1/fn", length)
		c.send("%s", emptyList[:10])
		if length < smallBody {
			if a := r.post(t, "/v1/fn", emptyList); a.code != 200 {
				t.Errorf("beside a stalled body: %d %s", a.code, a.text)
			}
		}
		a := c.answer()
		if p := a.problem(t); a.code != 408 || p.Detail != "no more of the body arrived for 1s" {
			t.Errorf("%d %s", a.code, a.text)
		}
	}
	eventually(t, "the slot is free", func() bool { return len(r.slots.free) == 0 })
	if a := r.post(t, "/v1/fn", emptyList); a.code != 200 {
		t.Errorf("after stalled bodies: %d %s", a.code, a.text)
	}
}

// TestManyBodies: bodies that arrive at the same time have a limit.
func TestManyBodies(t *testing.T) {
	r := serve(t, func(c *Config) { c.Slots, c.Queue = 1, 1 })
	const most = 2 * mostReading
	var first *connection
	for range most {
		first = r.dial(t)
		first.begin("/v1/fn", len(emptyList))
	}
	eventually(t, "all are read", func() bool { return r.slots.reading.Load() == most })
	if a := r.post(t, "/v1/fn", emptyList); a.code != 429 {
		t.Errorf("one more: %d %s", a.code, a.text)
	}
	first.send("%s", emptyList)
	if a := first.answer(); a.code != 200 {
		t.Errorf("one that ends: %d %s", a.code, a.text)
	}
	if a := r.post(t, "/v1/fn", emptyList); a.code != 200 {
		t.Errorf("in its place: %d %s", a.code, a.text)
	}
}

// TestDeepBody: the depth of a body is bounded before anything goes through it.
func TestDeepBody(t *testing.T) {
	r := serve(t, func(*Config) {})
	for name, deep := range map[string]string{
		"list": strings.Repeat("[", 200_000), "map": strings.Repeat("{a: ", 100_000), "block": strings.Repeat("- ", 200_000) + "a\n",
	} {
		if a := r.post(t, "/v1/fn", deep); a.code != 400 || a.problem(t).Line == 0 {
			t.Errorf("%s: %d %.200s", name, a.code, a.text)
		}
	}
}

// TestSlowBody: the time of a large body is that of its request.
func TestSlowBody(t *testing.T) {
	r := serve(t, func(c *Config) { c.Timeout, c.MaxBody = 500*time.Millisecond, 4<<20 })
	for length, want := range map[int]int{100: 408, 2 << 20: 504} {
		c := r.dial(t)
		c.begin("/v1/fn", length)
		a := c.answer()
		if a.problem(t); a.code != want {
			t.Errorf("%d bytes: %d %s", length, a.code, a.text)
		}
	}
}

// TestTooLarge: by the header before anything is read, or while it is read, after gunzip.
func TestTooLarge(t *testing.T) {
	for _, most := range []int64{1000, smallBody - 1, smallBody, smallBody + 1, 3 << 20} {
		r := serve(t, func(c *Config) { c.MaxBody = most })
		c := r.dial(t)
		c.begin("/v1/fn", int(most)+1) // and nothing more
		if a := c.answer(); a.code != 413 || !strings.Contains(a.problem(t).Detail, "a server with a larger --max-body takes more") {
			t.Errorf("%d, by the header: %d %s", most, a.code, a.text)
		}
		for _, over := range []int{0, 1} {
			text := []byte(emptyList + "#" + strings.Repeat("x", int(most)+over-len(emptyList)-2) + "\n")
			want := 200 + over*213
			if a := r.do(t, "POST", "/v1/fn", bytes.NewReader(text), "Content-Type", typeYAML); a.code != want {
				t.Errorf("%d bytes of %d: %d %.200s", len(text), most, a.code, a.text)
			}
			if a := r.do(t, "POST", "/v1/fn", io.MultiReader(bytes.NewReader(text)), "Content-Type", typeYAML); a.code != want {
				t.Errorf("%d bytes of %d, without length: %d %.200s", len(text), most, a.code, a.text)
			}
			if a := r.do(t, "POST", "/v1/fn", packed(t, text), "Content-Type", typeYAML, "Content-Encoding", "gzip"); a.code != want {
				t.Errorf("%d bytes of %d, packed: %d %.200s", len(text), most, a.code, a.text)
			}
		}
		eventually(t, "slots and budget are free", func() bool {
			return len(r.slots.free) == 0 && r.budget.Left() == 2*most
		})
	}
}

// TestQueue: with slots and queue full a request gets 429; those that wait are answered.
func TestQueue(t *testing.T) {
	b := newBlocking()
	r := serve(t, func(c *Config) { c.Slots, c.Queue, c.Verbs = 1, 1, []Verb{b.verb()} })
	codes := make(chan int, 2)
	post := func() { codes <- r.post(t, "/v1/block", emptyList).code }
	go post()
	<-b.begun
	go post()
	eventually(t, "one waits", func() bool { return r.slots.queued.Load() == 1 })
	if a := r.do(t, "GET", "/metrics", nil); !strings.Contains(a.text, "poolwright_http_requests_queued 1\n") {
		t.Error(a.text)
	}
	a := r.post(t, "/v1/block", emptyList)
	if p := a.problem(t); a.code != 429 || a.header.Get("Retry-After") == "" || p.Detail != "all slots are taken, and the queue is full; try again later" {
		t.Errorf("%d %v %s", a.code, a.header, a.text)
	}
	// A client that does not wait leaves the queue.
	b.end <- struct{}{}
	<-b.begun
	c := r.dial(t)
	c.begin("/v1/block", len(emptyList))
	c.send("%s", emptyList)
	eventually(t, "another waits", func() bool { return r.slots.queued.Load() == 1 })
	_ = c.Close()
	eventually(t, "it left", func() bool { return r.slots.queued.Load() == 0 })
	b.end <- struct{}{}
	for range 2 {
		if code := <-codes; code != 200 {
			t.Errorf("got %d", code)
		}
	}
}

// TestTimeout: the answer is 504, and the slot is taken until the work ends.
func TestTimeout(t *testing.T) {
	b := newBlocking()
	r := serve(t, func(c *Config) { c.Slots, c.Queue, c.Timeout, c.Verbs = 1, 0, time.Second, []Verb{b.verb()} })
	a := r.post(t, "/v1/block", emptyList)
	if p := a.problem(t); a.code != 504 || p.Detail != "not done after 1s; a server with a longer --timeout waits longer" {
		t.Errorf("%d %s", a.code, a.text)
	}
	if a := r.post(t, "/v1/fn", emptyList); a.code != 429 {
		t.Errorf("while the work goes on: %d %s", a.code, a.text)
	}
	b.end <- struct{}{}
	eventually(t, "the slot is free", func() bool { return r.post(t, "/v1/fn", emptyList).code == 200 })
}

// TestLargeBodies: two of the largest are worked on, and a third waits for one of them.
func TestLargeBodies(t *testing.T) {
	b := newBlocking()
	r := serve(t, func(c *Config) { c.MaxBody, c.Verbs = 2<<20, []Verb{b.verb()} })
	large := emptyList + "#" + strings.Repeat("x", 2<<20-len(emptyList)-2) + "\n"
	codes := make(chan int, 3)
	for range 3 {
		go func() { codes <- r.post(t, "/v1/block", large).code }()
	}
	<-b.begun
	<-b.begun
	eventually(t, "the third has a slot, and no budget", func() bool { return len(r.slots.free) == 3 })
	select {
	case <-b.begun:
		t.Error("three are worked on")
	default:
	}
	b.end <- struct{}{}
	<-b.begun
	b.end <- struct{}{}
	b.end <- struct{}{}
	for range 3 {
		if code := <-codes; code != 200 {
			t.Errorf("got %d", code)
		}
	}
}

// TestShutdown: what runs is answered, a body under way included; whatever comes gets 503.
func TestShutdown(t *testing.T) {
	b := newBlocking()
	r := serve(t, func(c *Config) { c.Verbs = []Verb{b.verb()} })
	codes := make(chan int, 1)
	go func() { codes <- r.post(t, "/v1/block", emptyList).code }()
	<-b.begun
	c := r.dial(t)
	c.begin("/v1/fn", len(emptyList))
	c.send("%s", emptyList[:10])
	eventually(t, "both run", func() bool { return r.Server.running() == 2 })
	r.signals <- syscall.SIGTERM
	eventually(t, "it is not ready", func() bool { return r.do(t, "GET", "/readyz", nil).code == 503 })
	if a := r.do(t, "GET", "/healthz", nil); a.code != 200 {
		t.Errorf("healthz: %d", a.code)
	}
	a := r.post(t, "/v1/fn", emptyList)
	if p := a.problem(t); a.code != 503 || a.header.Get("Retry-After") == "" || p.Detail != "the server is shutting down" {
		t.Errorf("new work: %d %v %s", a.code, a.header, a.text)
	}
	c.send("%s", emptyList[10:])
	if a := c.answer(); a.code != 200 || a.text != emptyList {
		t.Errorf("a body under way: %d %s", a.code, a.text)
	}
	b.end <- struct{}{}
	if code := <-codes; code != 200 {
		t.Errorf("what runs: %d", code)
	}
	r.client.CloseIdleConnections()
	err := <-r.ended
	if r.ended <- err; err != nil {
		t.Error(err)
	}
}

// TestCutOff: the time of the shutdown, or a second signal, ends what runs, with an error.
func TestCutOff(t *testing.T) {
	for _, c := range []struct {
		shutdown time.Duration
		signals  int
		want     string
	}{
		{100 * time.Millisecond, 1, "cut off after 100ms: 1 request"},
		{time.Hour, 2, "cut off by a second signal: 1 request"},
	} {
		b := newBlocking()
		r := serve(t, func(s *Config) { s.Shutdown, s.Verbs = c.shutdown, []Verb{b.verb()} })
		client := r.dial(t)
		client.begin("/v1/block", len(emptyList))
		client.send("%s", emptyList)
		<-b.begun
		for range c.signals {
			r.signals <- syscall.SIGTERM
		}
		err := <-r.ended
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
		r.ended <- err
		b.end <- struct{}{}
	}
}

// FuzzBody: a body is refused, or it is what was sent.
func FuzzBody(f *testing.F) {
	f.Add([]byte("abc"), uint16(3), uint16(2), true)
	f.Add([]byte(strings.Repeat("x", 5000)), uint16(100), uint16(4999), false)
	f.Fuzz(func(t *testing.T, text []byte, most, length uint16, isPacked bool) {
		sent := text
		header := http.Header{"Content-Type": {typeYAML}}
		if isPacked {
			header.Set("Content-Encoding", "gzip")
			if length%2 == 0 {
				sent = packed(t, text).Bytes()
			}
		}
		x := &exchange{
			request: &http.Request{Header: header, Body: io.NopCloser(bytes.NewReader(sent)), ContentLength: -1},
			writer:  &page{header: http.Header{}}, control: http.NewResponseController(&page{header: http.Header{}}),
		}
		b, p := openBody(x, int64(most), time.Minute)
		if p != nil {
			t.Fatal(p.Detail)
		}
		done, p := b.read(min(int64(length), b.most)+1, time.Time{}, 408)
		if p == nil && !done {
			_, p = b.read(b.most+1, time.Time{}, 504)
		}
		switch {
		case p == nil && (isPacked && length%2 != 0):
			// Random bytes that are gzip.
		case p == nil && !bytes.Equal(b.received.Bytes(), text):
			t.Fatalf("got %q, want %q", b.received.Bytes(), text)
		case p == nil && len(text) > int(most):
			t.Fatalf("%d bytes of %d", len(text), most)
		case p != nil && p.Status == 413 && len(text) <= int(most) && !isPacked:
			t.Fatalf("%d of %d bytes: %s", len(text), most, p.Detail)
		}
	})
}
