package soft

import (
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// wakeFeed is the shortest interval at which followers of a feed are woken: many of them in a busy cluster
// cost the log nothing.
const wakeFeed = 50 * time.Millisecond

// Feed is the newest notices, in the order of the log, as many as fit into a number of bytes. Its methods may
// be called from any goroutine.
type Feed struct {
	most int

	mu    sync.RWMutex
	items []*Item
	bytes int
	floor model.NoticePlace // everything after it is here
	last  model.NoticePlace
	wake  chan struct{} // closed at the next waking; nil: no waiter
	timer bool          // the next waking is on its way
}

// Item is a notice of a feed.
type Item struct {
	Notice model.Notice

	once  sync.Once
	frame []byte
}

// Frame returns the notice as it is sent, encoded once for all followers.
func (i *Item) Frame(encode func(*model.Notice) []byte) []byte {
	i.once.Do(func() { i.frame = encode(&i.Notice) })
	return i.frame
}

// NewFeed returns an empty feed of at most so many bytes.
func NewFeed(most int) *Feed { return &Feed{most: most} }

// Put adds notices, which continue those that came before. It never waits for readers.
func (f *Feed) Put(list []model.Notice) {
	if len(list) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range list {
		f.items = append(f.items, &Item{Notice: list[i]})
		f.bytes += weigh(&list[i])
	}
	f.last = list[len(list)-1].Place()
	drop := 0
	for drop < len(f.items)-1 && f.bytes > f.most {
		f.bytes -= weigh(&f.items[drop].Notice)
		f.floor = f.items[drop].Notice.Place()
		f.items[drop] = nil
		drop++
	}
	f.items = f.items[drop:]
	f.soon()
}

// weigh returns about how much memory a notice takes, with its frame.
func weigh(n *model.Notice) int {
	const fixed = 768
	text := len(n.Actor) + len(n.Node) + len(n.GPU) + len(n.Allocation) + len(n.Name) +
		len(n.User) + len(n.Project) + len(n.Detail) + len(n.Places)
	return fixed + 2*text
}

// Reset drops everything: the next notices continue the log entry, which came with a snapshot and not one by
// one.
func (f *Feed) Reset(index uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.items, f.bytes = nil, 0
	f.floor = model.NoticePlace{Index: index, Ordinal: 1<<32 - 1}
	f.last = f.floor
	f.soon()
}

// soon schedules the waking of the waiters.
func (f *Feed) soon() {
	if f.wake == nil || f.timer {
		return
	}
	f.timer = true
	time.AfterFunc(wakeFeed, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		close(f.wake)
		f.wake, f.timer = nil, false
	})
}

// After returns at most so many notices that come after a place; gone reports that some of them are no longer
// here.
func (f *Feed) After(p model.NoticePlace, most int) (list []*Item, gone bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if p.Compare(f.floor) < 0 {
		return nil, true
	}
	at := sort.Search(len(f.items), func(i int) bool { return f.items[i].Notice.Place().Compare(p) > 0 })
	return slices.Clone(f.items[at:min(at+most, len(f.items))]), false
}

// Last returns the place of the newest notice.
func (f *Feed) Last() model.NoticePlace {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.last
}

// Before returns the place after which the newest notices that are picked follow, so many of them or as many
// as are here.
func (f *Feed) Before(many int, pick func(*model.Notice) bool) model.NoticePlace {
	f.mu.RLock()
	defer f.mu.RUnlock()
	p := f.last
	for i := len(f.items) - 1; i >= 0 && many > 0; i-- {
		if p = f.floor; i > 0 {
			p = f.items[i-1].Notice.Place()
		}
		if pick(&f.items[i].Notice) {
			many--
		}
	}
	return p
}

// Changed returns a channel that is closed once there is something after the place.
func (f *Feed) Changed(p model.NoticePlace) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last.Compare(p) > 0 {
		ready := make(chan struct{})
		close(ready)
		return ready
	}
	if f.wake == nil {
		f.wake = make(chan struct{})
	}
	return f.wake
}
