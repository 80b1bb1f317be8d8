package votes_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/votes"
	"github.com/berth-gpu/berth/fsm/model"
)

// members returns members by their names: in capitals they vote, with ! they are not fresh.
func members(names ...string) (out []votes.Member) {
	for _, name := range names {
		id, stale := name, false
		if name[len(name)-1] == '!' {
			id, stale = name[:len(name)-1], true
		}
		out = append(out, votes.Member{ID: model.PeerID(id), Votes: id[0] < 'a', Fresh: !stale})
	}
	return out
}

// after decides at an instant, then again some time later with the same members.
func after(d time.Duration, list []votes.Member) model.PeerID {
	_, memory := votes.Next(list, nil, time.Hour, false)
	promote, _ := votes.Next(list, memory, time.Hour+d, false)
	return promote
}

func TestVotesComeInOddNumbers(t *testing.T) {
	t.Parallel()
	for want, list := range map[string][][]votes.Member{
		"": {
			members("A"), members("A", "b"), members("A", "B", "C", "d"), members("A", "b", "c!"), members("A", "B", "c!"), nil,
			members("A", "B", "C", "D", "E", "f"),
		},
		"b": {members("A", "b", "c"), members("A", "c", "b"), members("A", "D", "b"), members("A", "B", "C", "b", "e", "z!")},
	} {
		for _, one := range list {
			if got := after(votes.Stable, one); string(got) != want {
				t.Errorf("%+v: %q gets a vote, want %q", one, got, want)
			}
			if got := after(votes.Stable-1, one); got != "" {
				t.Errorf("%+v: %q gets a vote after less than %s", one, got, votes.Stable)
			}
		}
	}
}

// A member that falls behind begins again.
func TestAVoteNeedsABreaklessTime(t *testing.T) {
	t.Parallel()
	list := members("A", "B", "c")
	_, memory := votes.Next(list, nil, 0, false)
	_, memory = votes.Next(members("A", "B", "c!"), memory, votes.Stable/2, false)
	got, memory := votes.Next(list, memory, votes.Stable, false)
	if got != "" || memory["c"] != votes.Stable {
		t.Errorf("%q gets a vote, since %s", got, memory["c"])
	}
}

// However members come, fall behind and go, the voters are even in number for one step at most after all are fresh.
func TestVotersAreOdd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := members("A")
		var memory votes.Memory
		now := time.Duration(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.SampledFrom([]time.Duration{time.Second, votes.Stable}).Draw(t, "pause")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				if len(list) < 9 {
					list = append(list, votes.Member{ID: model.PeerID(fmt.Sprintf("m%d", len(list)))})
				}
			case 1:
				i := rapid.IntRange(0, len(list)-1).Draw(t, "which")
				list[i].Fresh = !list[i].Fresh
			}
			before := slices.Clone(list)
			var id model.PeerID
			id, memory = votes.Next(list, memory, now, false)
			voters, ready := 0, 0
			for i, m := range before {
				if m.Votes {
					voters++
				} else if since, known := memory[m.ID]; known && now-since >= votes.Stable {
					ready++
				}
				list[i].Votes = m.Votes || m.ID == id
			}
			if (id != "") != (voters%2 == 0 && ready > 0 || ready > 1) {
				t.Fatalf("%d voters and %d ready: %q gets a vote", voters, ready, id)
			}
		}
	})
}

func TestTolerates(t *testing.T) {
	t.Parallel()
	for _, v := range [][3]int{{1, 1, 0}, {2, 2, 0}, {3, 3, 1}, {3, 2, 0}, {3, 1, -1}, {5, 5, 2}, {4, 4, 1}} {
		if got := votes.Tolerates(v[0], v[1]); got != v[2] {
			t.Errorf("%d voters, %d up: %d more, want %d", v[0], v[1], got, v[2])
		}
	}
}
