package archive

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Refusal is a request that this peer has refused before the log, or, in the files of reads, a request that
// returned data of another user.
type Refusal struct {
	Time    time.Time `json:"time"`
	From    string    `json:"from,omitempty"`
	Actor   string    `json:"actor,omitempty"` // as far as known
	Method  string    `json:"method"`
	Path    string    `json:"path"`
	Request string    `json:"request_id,omitempty"`
	Status  int       `json:"status"`
	Code    string    `json:"code"`
	Dropped uint64    `json:"dropped_before,omitempty"` // requests that came too fast to be written, before this one
	Seq     uint64    `json:"seq,omitempty"`            // number of the line
	Hash    string    `json:"chain_hash,omitempty"`     // of this line and all before it
}

// maxRefusals is how many refusals wait to be written; those beyond are only counted.
const maxRefusals = 1024

// Refusals writes refusals to files of this peer. Its methods may be called from any
// goroutine.
type Refusals struct {
	in      chan Refusal
	dropped atomic.Uint64
	work    sync.WaitGroup
	once    sync.Once
	end     chan struct{}
	turning sync.Mutex // files are written and renamed, or are being opened to be read
	file    *rotating
	last    link // of the newest line; used by the writer only
	resumed bool // last has been read from the files
}

// OpenRefusals starts to write refusals. Files that cannot be written are retried with every refusal, and
// logged once.
func OpenRefusals(to Rotation, log *slog.Logger) *Refusals { return openRequests(to, "refusals", log) }

// OpenReads starts to write reads of other users' data, likewise.
func OpenReads(to Rotation, log *slog.Logger) *Refusals { return openRequests(to, "reads", log) }

func openRequests(to Rotation, name string, log *slog.Logger) *Refusals {
	r := &Refusals{in: make(chan Refusal, maxRefusals), end: make(chan struct{}), file: newRotating(to, name)}
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

// Close writes the rest. On nil it does nothing.
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
		var list []Refusal
		select {
		case one := <-r.in:
			list = append(list, one)
		case <-r.end:
			open = false
		}
		for more := true; more; {
			select {
			case one := <-r.in:
				list = append(list, one)
			default:
				more = false
			}
		}
		if len(list) == 0 {
			continue
		}
		err := r.write(list)
		if err != nil {
			r.resumed = false // what of it is there, the files know
			r.dropped.Add(uint64(len(list)))
		}
		if err != nil && !failing {
			log.Error(r.file.name+" cannot be written, retrying", "err", err)
		}
		failing = err != nil
	}
}

// write adds lines, each chained to the one before.
func (r *Refusals) write(list []Refusal) error {
	if !r.resumed {
		if err := r.resume(); err != nil {
			return err
		}
	}
	var data bytes.Buffer
	last, dropped := r.last, r.dropped.Swap(0)
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false)
	for i, one := range list {
		if one.Dropped = 0; i == 0 {
			one.Dropped = dropped
		}
		var err error
		if last, one, err = last.next(one); err == nil {
			err = e.Encode(one)
		}
		if err != nil {
			return err
		}
	}
	r.turning.Lock()
	err := r.file.append(data.Bytes())
	r.turning.Unlock()
	if err != nil {
		r.dropped.Add(dropped)
		return err
	}
	r.last = last
	return r.keepHead()
}
