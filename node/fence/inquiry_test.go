package fence_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
)

func said(peer model.PeerID, at time.Duration, silent time.Duration, voters ...model.PeerID) fence.Answer {
	return fence.Answer{Peer: peer, Members: voters, Sent: fence.Boot(at), Answered: fence.Boot(at + time.Millisecond), Silent: silent}
}

// Answers count from the voters that the last leader named, until the next renewal or clock gap.
func TestInquiry(t *testing.T) {
	const hour = time.Hour
	voters := []model.PeerID{"a", "b", "c"}
	var q fence.Inquiry
	if _, found := q.Learn(said("a", hour, time.Minute, voters...)); found || q.Ready() {
		t.Error("an answer counts before the voters are known")
	}
	q.Renewed(voters)
	for _, a := range []fence.Answer{
		said("a", hour, time.Minute, voters...),
		said("b", hour, 0, voters...),
		said("b", hour, time.Minute, "a", "b"),
		said("d", hour, time.Minute, "a", "b", "c", "d"),
	} {
		if at, found := q.Learn(a); found {
			t.Errorf("%+v shows that no peer led at %s", a, at)
		}
	}
	if at, found := q.Learn(said("b", hour+time.Second, time.Minute, voters...)); !found || at < fence.Boot(hour) {
		t.Errorf("two of three are silent, and a peer led: %s", at)
	}
	q.Forget()
	if _, found := q.Learn(said("b", hour+2*time.Second, time.Minute, voters...)); found {
		t.Error("answers outlast a standstill")
	}
	q.Learn(said("a", hour+2*time.Second, time.Minute, voters...))
	q.Renewed(voters)
	if _, found := q.Learn(said("b", hour+3*time.Second, time.Minute, voters...)); found {
		t.Error("answers outlast a renewal")
	}
	for n := range 1000 {
		q.Learn(said("c", 2*hour+time.Duration(n)*time.Second, time.Minute, voters...))
	}
	if at, found := q.Learn(said("a", 2*hour+999*time.Second, time.Minute, voters...)); !found || at < fence.Boot(2*hour+990*time.Second) {
		t.Errorf("after many answers no peer led at %s: %t", at, found)
	}
}
