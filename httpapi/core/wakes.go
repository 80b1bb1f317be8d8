package core

import (
	"sync"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/port"
)

// wakes shares one wait for changes among all readers of the same topics. A wait of the peer lasts
// until there is a change, even after the reader has left: without this, polls of a quiet cluster
// would pile up.
type wakes struct {
	reader port.Reader

	mu   sync.Mutex
	open map[model.TopicSet]wake
}

type wake struct {
	after uint64
	ch    <-chan struct{}
}

func newWakes(r port.Reader) *wakes { return &wakes{reader: r, open: map[model.TopicSet]wake{}} }

// Changed returns a channel that is closed once one of the topics has changed after
// the index; it may be closed somewhat earlier, so look and ask again.
func (w *wakes) Changed(set model.TopicSet, after uint64) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, known := w.open[set]; known && c.after <= after {
		select {
		case <-c.ch:
		default:
			return c.ch
		}
	}
	c := wake{after, w.reader.Changed(set, after)}
	w.open[set] = c
	return c.ch
}

// Topics returns a set of topics.
func Topics(list ...model.Topic) (set model.TopicSet) {
	for _, t := range list {
		set = set.With(t)
	}
	return set
}

// LastOf returns the log index at which one of the topics last changed.
func LastOf(s *state.State, set model.TopicSet) (last uint64) {
	all := s.Settings().Topics
	for t := range model.Topic(model.TopicCount) {
		if set.Has(t) {
			last = max(last, all[t])
		}
	}
	return last
}
