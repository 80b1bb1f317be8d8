package archive

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Refusal is a request that this peer has turned away before it came to the log.
type Refusal struct {
	Time    time.Time `json:"time"`
	From    string    `json:"from,omitempty"`
	Actor   string    `json:"actor,omitempty"` // as far as it is known
	Method  string    `json:"method"`
	Path    string    `json:"path"`
	Request string    `json:"request_id,omitempty"`
	Status  int       `json:"status"`
	Code    string    `json:"code"`
	Dropped uint64    `json:"dropped_before,omitempty"` // refusals that came too fast to be written, before this one
}

// maxRefusals is how many refusals wait to be written; a flood beyond is counted only.
const maxRefusals = 1024

// Refusals writes refusals to files of this peer. Its methods may be called from any
// goroutine.
type Refusals struct {
	in      chan Refusal
	dropped atomic.Uint64
	work    sync.WaitGroup
	once    sync.Once
	end     chan struct{}
	turning sync.Mutex // files are written and named anew, or are being opened to be read
	file    *rotating
}

// OpenRefusals begins to write. Files that cannot be written are tried again with
// every refusal, and logged once.
func OpenRefusals(to Rotation, log *slog.Logger) *Refusals {
	r := &Refusals{in: make(chan Refusal, maxRefusals), end: make(chan struct{}), file: newRotating(to, "refusals")}
	r.work.Go(func() { r.run(log) })
	return r
}

// Refused notes a refusal. It never waits.
func (r *Refusals) Refused(one Refusal) {
	select {
	case r.in <- one:
	default:
		r.dropped.Add(1)
	}
}

// Close writes what is left. Of nil it does nothing.
func (r *Refusals) Close() {
	if r == nil {
		return
	}
	r.once.Do(func() { close(r.end) })
	r.work.Wait()
}

func (r *Refusals) run(log *slog.Logger) {
	defer r.file.close()
	failing := false
	for open := true; open; {
		var data bytes.Buffer
		select {
		case one := <-r.in:
			r.encode(&data, one)
		case <-r.end:
			open = false
		}
		for more := true; more; {
			select {
			case one := <-r.in:
				r.encode(&data, one)
			default:
				more = false
			}
		}
		if data.Len() == 0 {
			continue
		}
		r.turning.Lock()
		err := r.file.append(data.Bytes())
		r.turning.Unlock()
		if err != nil && !failing {
			log.Error("refusals are not written at the moment", "err", err)
		}
		failing = err != nil
	}
}

// encode adds a line. A refusal is plain, so that it has one.
func (r *Refusals) encode(out *bytes.Buffer, one Refusal) {
	one.Dropped = r.dropped.Swap(0)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	_ = e.Encode(one)
}
