package fsm

import (
	"slices"
	"sync"

	"github.com/berth-gpu/berth/fsm/model"
)

// wakes wakes waiting readers after changes. Apply only pokes a goroutine, so that a thousand waiting agents
// cost the log nothing; pokes that come together wake once.
type wakes struct {
	mu      sync.Mutex
	topics  []topicWaiter
	indexes []indexWaiter

	replaced bool // by a restore: all waiters are woken
	poke     chan struct{}
	quit     chan struct{}
	ended    chan struct{}
	once     sync.Once
}

type topicWaiter struct {
	topics model.TopicSet
	after  uint64
	now    func() model.Topics
	ch     chan struct{}
}

// due reports whether one of the topics has changed.
func (v *topicWaiter) due() bool {
	last := v.now()
	for t := range model.Topic(model.TopicCount) {
		if v.topics.Has(t) && last[t] > v.after {
			return true
		}
	}
	return false
}

type indexWaiter struct {
	index uint64
	now   func() uint64
	ch    chan struct{}
}

func newWakes() *wakes {
	w := &wakes{poke: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{})}
	go w.run()
	return w
}

func (w *wakes) close() {
	w.once.Do(func() { close(w.quit) })
	<-w.ended
}

// changed announces a new state; replaced means that it does not follow from the one before.
func (w *wakes) changed(replaced bool) {
	if replaced {
		w.mu.Lock()
		w.replaced = true
		w.mu.Unlock()
	}
	select {
	case w.poke <- struct{}{}:
	default:
	}
}

func (w *wakes) run() {
	defer close(w.ended)
	for {
		select {
		case <-w.poke:
			w.wake()
		case <-w.quit:
			return
		}
	}
}

func (w *wakes) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	replaced := w.replaced
	w.replaced = false
	w.topics = slices.DeleteFunc(w.topics, func(v topicWaiter) bool {
		if !replaced && !v.due() {
			return false
		}
		close(v.ch)
		return true
	})
	w.indexes = slices.DeleteFunc(w.indexes, func(v indexWaiter) bool {
		if v.now() < v.index {
			return false
		}
		close(v.ch)
		return true
	})
}

// wait registers first and reads the state then, so that no change between the two is missed.
func (w *wakes) wait(topics model.TopicSet, after uint64, now func() model.Topics) <-chan struct{} {
	v := topicWaiter{topics, after, now, make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	if v.due() {
		close(v.ch)
	} else {
		w.topics = append(w.topics, v)
	}
	return v.ch
}

func (w *wakes) reach(index uint64, now func() uint64) <-chan struct{} {
	v := indexWaiter{index, now, make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now() >= index {
		close(v.ch)
		return v.ch
	}
	w.indexes = append(w.indexes, v)
	return v.ch
}
