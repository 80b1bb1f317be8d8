//berth:bubble

package cluster

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/history"
	"github.com/berth-gpu/berth/fsm/model"
)

// chroniclers are the members of a world whose histories are kept.
type chroniclers struct {
	*world

	dir   string
	books map[*member]*history.Book
}

// keep keeps the history of a member that runs, until it ends.
func (c *chroniclers) keep(m *member) {
	book := history.NewBook(history.Config{Path: filepath.Join(c.dir, m.name, "cluster.json"), Log: slog.New(slog.NewTextHandler(m.log, nil))})
	p := m.Peer
	c.books[m] = book
	p.life.work.Go(func() { p.KeepHistory(p.life.ctx, book) })
}

// same waits until members have the same records, and at least so many.
func (c *chroniclers) same(what string, least int, of ...*member) []history.Record {
	c.t.Helper()
	counts := ""
	defer func() {
		if c.t.Failed() {
			c.t.Log(counts)
		}
	}()
	all := func(m *member) []history.Record { return c.books[m].Between(0, 1<<40) }
	c.until(what, func() bool {
		counts = ""
		first := all(of[0])
		equal := len(first) >= least
		for _, m := range of {
			list := all(m)
			counts += fmt.Sprintf("%s %d ", m.name, len(list))
			equal = equal && reflect.DeepEqual(list, first)
		}
		return equal
	})
	return all(of[0])
}

// All peers have the same records over changes of the leader, a peer that is down, and a restart of all of them.
func TestPeersKeepOneHistory(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, 3, calm, func(w *world) {
		c := &chroniclers{world: w, dir: dir, books: map[*member]*history.Book{}}
		for _, m := range w.peers {
			c.keep(m)
		}
		w.leader().Soft().Board.Put("n1", []model.Sample{{GPU: "no GPU of the cluster", Utilization: 9}})
		time.Sleep(4 * time.Minute)
		c.same("all have the same", 4, w.peers...)
		first := w.leader()
		w.crash(first)
		left := slices.DeleteFunc(slices.Clone(w.peers), func(m *member) bool { return m == first })
		time.Sleep(5 * time.Minute)
		list := c.same("the others go on", 9, left...)
		if list[0].Term >= list[len(list)-1].Term {
			t.Errorf("terms %d and %d", list[0].Term, list[len(list)-1].Term)
		}
		w.start(first)
		c.keep(first)
		c.same("the peer that was down has all", len(list), w.peers...)
		for _, m := range w.peers {
			w.crash(m)
		}
		time.Sleep(3 * time.Minute)
		for _, m := range w.peers {
			w.start(m)
			c.keep(m)
		}
		time.Sleep(2 * time.Minute)
		again := c.same("after a restart of all", len(list)+1, w.peers...)
		if !reflect.DeepEqual(again[:len(list)], list) {
			t.Errorf("records changed: %d before, %d after", len(list), len(again))
		}
		// Before the end of all another minute may have been recorded.
		gaps := 0
		for i := len(list); i < len(again); i++ {
			if again[i].Minute-again[i-1].Minute >= 3 {
				gaps++
			}
		}
		if gaps == 0 {
			t.Error("the time without a peer is no gap")
		}
	})
}
