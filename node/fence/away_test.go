package fence_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
)

const silence = time.Second

func ms(n int) fence.Boot { return fence.Boot(time.Duration(n) * time.Millisecond) }

func answer(peer string, sent, answered, silent int, change ...func(*fence.Answer)) fence.Answer {
	a := fence.Answer{
		Peer: model.PeerID(peer), Config: 7, Members: []model.PeerID{"a", "b", "c"},
		Sent: ms(sent), Answered: ms(answered), Silent: time.Duration(silent) * time.Millisecond,
	}
	for _, f := range change {
		f(&a)
	}
	return a
}

func config(index uint64) func(*fence.Answer) { return func(a *fence.Answer) { a.Config = index } }

func silent(d time.Duration) func(*fence.Answer) { return func(a *fence.Answer) { a.Silent = d } }

func members(ids ...model.PeerID) func(*fence.Answer) {
	return func(a *fence.Answer) { a.Members = ids }
}

// awayCase is what peers answered, and what follows; 0: nothing.
type awayCase struct {
	answers []fence.Answer
	want    fence.Boot
}

func checkLeaderless(t *testing.T, cases map[string]awayCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if at, found := fence.LeaderlessAt(c.answers, silence); at != c.want || found != (c.want != 0) {
				t.Errorf("%v, %v, want %v", at, found, c.want)
			}
		})
	}
}

func TestLeaderlessAtTimes(t *testing.T) {
	checkLeaderless(t, map[string]awayCase{
		"no answers":   {},
		"one of three": {answers: []fence.Answer{answer("a", 9000, 9001, 5000)}},
		"one of three, asked twice": {answers: []fence.Answer{
			answer("a", 9000, 9001, 5000), answer("a", 9100, 9101, 5100),
		}},
		"two of three": {answers: []fence.Answer{
			answer("a", 9000, 9001, 5000), answer("b", 9100, 9101, 5000),
		}, want: ms(9000)},
		"the latest": {answers: []fence.Answer{
			answer("a", 9000, 9001, 5000), answer("b", 9100, 9101, 5000),
			answer("a", 12000, 12001, 8000), answer("b", 12100, 12101, 8000),
		}, want: ms(12000)},
		"the latest, whatever the order": {answers: []fence.Answer{
			answer("b", 12100, 12101, 8000), answer("a", 12000, 12001, 8000),
			answer("b", 9100, 9101, 5000), answer("a", 9000, 9001, 5000),
		}, want: ms(12000)},
		"one after the other": {answers: []fence.Answer{
			answer("a", 2000, 2001, 1500), answer("b", 4000, 4001, 1500),
		}},
		"not for long enough": {answers: []fence.Answer{
			answer("a", 9000, 9000, 1003), answer("b", 9000, 9000, 1003),
		}},
		"just long enough, by any clock": {answers: []fence.Answer{
			answer("a", 9000, 9000, 1010), answer("b", 9000, 9000, 1010),
		}, want: ms(9000)},
		"eaten up by the round trip": {answers: []fence.Answer{
			answer("a", 9000, 9500, 1400), answer("b", 9000, 9500, 1400),
		}},
	})
}

func TestLeaderlessAtPeers(t *testing.T) {
	checkLeaderless(t, map[string]awayCase{
		"of two configurations": {answers: []fence.Answer{
			answer("a", 9000, 9001, 5000), answer("b", 9000, 9001, 5000, config(8)),
		}},
		"of two memberships": {answers: []fence.Answer{
			answer("a", 9000, 9001, 5000), answer("b", 9000, 9001, 5000, members("a", "b", "c", "d")),
		}},
		"two of four": {answers: []fence.Answer{
			answer("a", 9000, 9001, 5000, members("a", "b", "c", "d")),
			answer("b", 9000, 9001, 5000, members("a", "b", "c", "d")),
		}},
		"from peers that do not vote": {answers: []fence.Answer{
			answer("x", 9000, 9001, 5000), answer("y", 9000, 9001, 5000),
		}},
		"one hears a leader": {answers: []fence.Answer{
			answer("a", 9000, 9001, 5000), answer("b", 9000, 9001, 0),
		}},
		"nonsense": {answers: []fence.Answer{
			answer("a", 9000, 9001, 0, silent(math.MinInt64)), answer("b", 9000, 9001, 0, silent(math.MinInt64)),
		}},
		"silent for ever": {answers: []fence.Answer{
			answer("a", 9000, 9001, 0, silent(math.MaxInt64)), answer("b", 9000, 9001, 0, silent(math.MaxInt64)),
		}, want: ms(9000)},
		"answered before it was asked": {answers: []fence.Answer{
			answer("a", 9000, 8000, 5000), answer("b", 9000, 8000, 5000),
		}},
	})
}

// peers is when each of some peers heard a leader, in milliseconds, ascending.
type peers [][]int

// silentFor returns how long a peer had heard no leader at an instant.
func (p peers) silentFor(peer, at int) int {
	last := 0
	for _, heard := range p[peer] {
		if heard <= at {
			last = heard
		}
	}
	return at - last
}

// silentTogether counts the peers that had heard no leader for silence.
func (p peers) silentTogether(at int) int {
	n := 0
	for i := range p {
		if p.silentFor(i, at) >= int(silence/time.Millisecond) {
			n++
		}
	}
	return n
}

func (p peers) members() []model.PeerID {
	ids := make([]model.PeerID, len(p))
	for i := range p {
		ids[i] = model.PeerID(rune('a' + i))
	}
	return ids
}

// ask polls peers one after the other or at once, with slow answers, and clocks
// that are fast or slow.
func (p peers) ask(t *rapid.T, until int) []fence.Answer {
	var answers []fence.Answer
	for range rapid.IntRange(1, 30).Draw(t, "polls") {
		i := rapid.IntRange(0, len(p)-1).Draw(t, "peer")
		sent := rapid.IntRange(0, until/100).Draw(t, "sent") * 100
		there := sent + rapid.IntRange(0, 300).Draw(t, "there")
		back := there + rapid.IntRange(0, 300).Draw(t, "back")
		answers = append(answers, p.answer(i, sent, there, back, rapid.IntRange(-2, 2).Draw(t, "permille")))
	}
	return answers
}

// answer returns a peer's truthful answer, by a clock that is off by some permille.
func (p peers) answer(peer, sent, there, back, permille int) fence.Answer {
	silent := time.Duration(p.silentFor(peer, there)) * time.Millisecond
	return fence.Answer{
		Peer: p.members()[peer], Config: 7, Members: p.members(),
		Sent: ms(sent), Answered: ms(back), Silent: silent + silent/1000*time.Duration(permille),
	}
}

func drawPeers(t *rapid.T) peers {
	p := make(peers, rapid.SampledFrom([]int{1, 3, 4, 5}).Draw(t, "peers"))
	for i := range p {
		p[i] = rapid.SliceOfN(rapid.IntRange(0, 5000), 0, 4).Draw(t, "heard")
		slices.Sort(p[i])
	}
	return p
}

// What is found is true: at that instant a majority had been silent all at once.
func TestLeaderlessAtIsTrue(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawPeers(t)
		at, ok := fence.LeaderlessAt(p.ask(t, 5000), silence)
		if !ok {
			return
		}
		found++
		if n := p.silentTogether(int(at.Sub(0) / time.Millisecond)); n <= len(p)/2 {
			t.Fatalf("at %v %d of %d peers heard no leader", at, n, len(p))
		}
	})
	if found == 0 {
		t.Error("nothing was ever found: the test is empty")
	}
}

// cutInTurn returns three peers under a leader that stays in office: two of them hear it at every time, and
// each in its turn hears nothing for two seconds.
func cutInTurn() peers {
	p := make(peers, 3)
	for now := 0; now < 12_000; now += 100 {
		for i := range p {
			if i != now/2000%3 {
				p[i] = append(p[i], now)
			}
		}
	}
	return p
}

// To count the peers whose newest answer is that they hear no leader is wrong:
// polls one after the other then find a majority that never was.
func TestSinglePollsDoNotSuffice(t *testing.T) {
	p := cutInTurn()
	answers := []fence.Answer{p.answer(0, 1900, 1901, 1902, 0), p.answer(1, 3900, 3901, 3902, 0)}
	if n := newestSilent(answers); n != 2 {
		t.Fatalf("%d peers answered that they hear no leader, want 2", n)
	}
	if at, found := fence.LeaderlessAt(answers, silence); found {
		t.Errorf("found %v under a leader that leads on", at)
	}
}

func TestSinglePollsNeverAddUp(t *testing.T) {
	p := cutInTurn()
	rapid.Check(t, func(t *rapid.T) {
		answers := p.ask(t, 11_000)
		if at, ok := fence.LeaderlessAt(answers, silence); ok {
			t.Fatalf("found %v under a leader that leads on: %+v", at, answers)
		}
	})
}

// newestSilent counts the peers whose newest answer is that they hear no leader.
func newestSilent(answers []fence.Answer) int {
	newest := map[model.PeerID]fence.Answer{}
	for _, a := range answers {
		if a.Answered >= newest[a.Peer].Answered {
			newest[a.Peer] = a
		}
	}
	n := 0
	for _, a := range newest {
		if a.Silent >= silence {
			n++
		}
	}
	return n
}
