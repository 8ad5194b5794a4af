package system

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Duplicator is a proxy in front of a stock service that, when on, delivers every request twice: one copy's answer is
// returned, the other's is dropped, and either may arrive first.
type Duplicator struct {
	addr    string
	stop    func()
	on      atomic.Bool
	doubled atomic.Int64
	copies  sync.WaitGroup
}

func newDuplicator(upstream string) (*Duplicator, error) {
	target := &url.URL{Scheme: "http", Host: upstream}
	transport := &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.Transport = transport
	// If the stock service is down, the caller sees the same as without this proxy: the connection ends.
	forward.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	forward.ErrorLog = log.New(io.Discard, "", 0) // an answer cut off by a killed service is no news
	d := &Duplicator{}
	var err error
	d.addr, d.stop, err = Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.on.Load() {
			if err := d.double(transport, target, r); err != nil {
				panic(http.ErrAbortHandler)
			}
		}
		forward.ServeHTTP(w, r)
	}))
	return d, err
}

// double sends a copy of r on its way, and leaves r's body to be read again.
func (d *Duplicator) double(transport http.RoundTripper, target *url.URL, r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 10*time.Second)
	second := r.Clone(ctx)
	second.Body = io.NopCloser(bytes.NewReader(body))
	second.URL.Scheme, second.URL.Host, second.RequestURI = target.Scheme, target.Host, ""
	d.copies.Go(func() {
		defer cancel()
		resp, err := transport.RoundTrip(second)
		if err != nil {
			return // the copy was lost: as good as not sent
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		d.doubled.Add(1)
	})
	return nil
}

// Switch turns duplication on or off.
func (d *Duplicator) Switch(on bool) { d.on.Store(on) }

// On reports whether it duplicates.
func (d *Duplicator) On() bool { return d.on.Load() }

// Doubled counts the requests whose copy was answered as well.
func (d *Duplicator) Doubled() int { return int(d.doubled.Load()) }

func (d *Duplicator) close() {
	d.stop()
	d.copies.Wait()
}
