package archive

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Line is a record of the audit trail as a line of JSON.
type Line struct {
	Seq       uint64    `json:"seq"`
	Index     uint64    `json:"index"`
	Time      time.Time `json:"time"`
	Actor     string    `json:"actor"`
	From      string    `json:"from,omitempty"`
	Action    string    `json:"action"`
	Target    string    `json:"target,omitempty"`
	Request   string    `json:"request_id,omitempty"`
	Result    string    `json:"result"`
	Detail    string    `json:"detail,omitempty"`
	Repeated  bool      `json:"repeated,omitempty"`
	ByPeer    string    `json:"by_peer,omitempty"`
	ChainHash string    `json:"chain_hash"`
}

func lineOf(r *model.AuditRecord, hash model.Hash) Line {
	return Line{
		Seq: r.Seq, Index: r.Index, Time: r.At.Time(), Actor: r.Actor, From: r.From, Action: command.Kind(r.Kind).String(),
		Target: r.Target, Request: r.Request, Result: r.Code.String(), Detail: r.Detail, Repeated: r.Repeat, ByPeer: r.By,
		ChainHash: hex.EncodeToString(hash[:]),
	}
}

// maxExport is how many records one round writes out.
const maxExport = 5000

// exporter writes records as lines of JSON, each at least once and in order.
type exporter struct {
	file    *rotating
	log     *slog.Logger
	failing bool
}

// run writes out new records. A failure is retried the next time: the archive has all records.
func (x *exporter) run(v *vault) {
	err := x.write(v)
	if err != nil && !x.failing {
		x.log.Error("cannot export audit records: the archive has them", "folder", x.file.Dir, "err", err)
	}
	x.failing = err != nil
}

func (x *exporter) write(v *vault) error {
	for {
		var data bytes.Buffer
		var from, to uint64
		err := v.view(func(p *page) (err error) {
			from = p.number(metaExported)
			to, err = p.lines(&data, from)
			return err
		})
		if err != nil || to == from {
			return err
		}
		if err := x.file.append(data.Bytes()); err != nil {
			return err
		}
		if err := v.update(func(p *page) error { return p.setNumber(metaExported, to) }); err != nil {
			return err
		}
	}
}

// lines writes the records after one, up to the first that is still missing here, and returns the last.
func (p *page) lines(out *bytes.Buffer, after uint64) (last uint64, err error) {
	top, _ := p.top()
	holes, encode := p.holes(), json.NewEncoder(out)
	encode.SetEscapeHTML(false)
	last = after
	for n := 0; n < maxExport && last < top; n++ {
		if h, in := within(holes, last+1); in {
			if !h.lost {
				return last, nil
			}
			last = h.last
			continue
		}
		e, present := p.at(last + 1)
		if !present {
			return last, nil
		}
		r, err := state.DecodeAudit(e.data)
		if err != nil {
			return last, err
		}
		if err := encode.Encode(lineOf(&r, e.hash)); err != nil {
			return last, err
		}
		last++
	}
	return last, nil
}
