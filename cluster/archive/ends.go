package archive

import (
	"bytes"
	"context"

	"github.com/berth-gpu/berth/fsm/state"
)

// endsStep is how many parts of histories are read within one transaction.
const endsStep = 500

// Ended is a part of the history of a job that has ended, without its events and texts.
type Ended struct {
	Key     HistoryKey
	Outline state.History
}

// Ends passes what has ended before a key to look, newest first, until look returns false or the context
// ends, whose error it returns then. The parts of one job follow on each other, the last one first.
func (a *Archive) Ends(ctx context.Context, before HistoryKey, look func(Ended) (more bool)) error {
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		list, err := a.vault.ends(before)
		if err != nil {
			return err
		}
		for _, e := range list {
			if !look(e) {
				return nil
			}
		}
		if len(list) < endsStep {
			return nil
		}
		before = list[len(list)-1].Key
	}
}

// ends returns the newest parts before a key.
func (v *vault) ends(before HistoryKey) (list []Ended, err error) {
	err = v.view(func(p *page) error {
		c := p.tx.Bucket(bucketHistories).Cursor()
		end := before.bytes()
		k, data := c.Seek(end)
		if k == nil {
			k, data = c.Last()
		}
		for ; k != nil && len(list) < endsStep; k, data = c.Prev() {
			key, ok := historyKeyOf(k)
			if !ok || bytes.Compare(k, end) >= 0 {
				continue
			}
			h, err := state.DecodeOutline(data)
			if err != nil {
				return err
			}
			list = append(list, Ended{key, h})
		}
		return nil
	})
	return list, err
}
