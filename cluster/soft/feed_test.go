package soft

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

func told(index uint64, many int) (list []model.Notice) {
	for i := range many {
		list = append(list, model.Notice{Index: index, Ordinal: uint32(i + 1), Kind: model.NoticeJobQueued, Job: model.JobID(i + 1)})
	}
	return list
}

func places(list []*Item) (out []model.NoticePlace) {
	for _, i := range list {
		out = append(out, i.Notice.Place())
	}
	return out
}

func TestFeed(t *testing.T) {
	f := NewFeed(1 << 20)
	f.Put(told(5, 2))
	f.Put(nil)
	f.Put(told(9, 1))
	for _, v := range []struct {
		after model.NoticePlace
		want  int
	}{
		{model.NoticePlace{}, 3},
		{model.NoticePlace{Index: 5, Ordinal: 1}, 2},
		{model.NoticePlace{Index: 5, Ordinal: 2}, 1},
		{model.NoticePlace{Index: 7}, 1},
		{model.NoticePlace{Index: 9, Ordinal: 1}, 0},
		{model.NoticePlace{Index: 90}, 0},
	} {
		if list, gone := f.After(v.after, 10); len(list) != v.want || gone {
			t.Errorf("after %+v come %v, gone %t; want %d", v.after, places(list), gone, v.want)
		}
	}
	if list, _ := f.After(model.NoticePlace{}, 2); len(list) != 2 {
		t.Errorf("asked for two, it gives %v", places(list))
	}
	all := func(*model.Notice) bool { return true }
	if p := f.Before(2, all); p != (model.NoticePlace{Index: 5, Ordinal: 1}) {
		t.Errorf("two come after %+v", p)
	}
	if p := f.Before(99, all); p != (model.NoticePlace{}) {
		t.Errorf("all come after %+v", p)
	}
	if p := f.Before(1, func(n *model.Notice) bool { return n.Job == 2 }); p != (model.NoticePlace{Index: 5, Ordinal: 1}) {
		t.Errorf("the one of job 2 comes after %+v", p)
	}
}

// What does not fit is dropped from the oldest on, and a reader that asks for it gets gone.
func TestFeedIsBounded(t *testing.T) {
	one := weigh(&told(1, 1)[0])
	f := NewFeed(10 * one)
	for i := range uint64(1000) {
		f.Put(told(i+1, 1))
	}
	list, gone := f.After(model.NoticePlace{Index: 990, Ordinal: 1}, 100)
	if len(list) != 10 || gone {
		t.Errorf("it keeps %v", places(list))
	}
	if _, gone := f.After(model.NoticePlace{Index: 989, Ordinal: 1}, 100); !gone {
		t.Error("what is gone is not said to be")
	}
	f.Reset(2000)
	if list, gone := f.After(model.NoticePlace{Index: 2000, Ordinal: 7}, 100); len(list) > 0 || !gone {
		t.Errorf("after a snapshot it gives %v, gone %t", places(list), gone)
	}
	f.Put(told(2001, 1))
	if list, gone := f.After(f.Before(5, func(*model.Notice) bool { return true }), 100); len(list) != 1 || gone {
		t.Errorf("after a snapshot and one notice it gives %v, gone %t", places(list), gone)
	}
}

// A frame is made once, and all waiters are woken together.
func TestFeedWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFeed(1 << 20)
		first, second := f.Changed(f.Last()), f.Changed(f.Last())
		began := time.Now()
		for i := range uint64(20) {
			f.Put(told(i+1, 1))
		}
		<-first
		<-second
		if took := time.Since(began); took != wakeFeed {
			t.Errorf("woken after %s", took)
		}
		<-f.Changed(model.NoticePlace{Index: 3})
		made := 0
		list, _ := f.After(model.NoticePlace{Index: 19, Ordinal: 1}, 1)
		for range 3 {
			list[0].Frame(func(*model.Notice) []byte { made++; return []byte("x") })
		}
		if made != 1 {
			t.Errorf("the frame was made %d times", made)
		}
	})
}
