package leader_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
)

// A rotation goes on as soon as the last member has reported to be as far, and not before.
func TestRotationGoesOn(t *testing.T) {
	lead(t, nil, func(f *fake, _ *clock) {
		n1 := membership.Member{Role: model.RoleAgent, Name: "n1"}
		f.user(t, &command.RecordCertificate{
			Member: n1, Serial: "01", Key: model.Hash{1}, Issued: 1,
			Expires: model.TimeOf(time.Now().Add(time.Hour * 1000)),
		})
		f.user(t, &command.BeginRotation{Rotation: membership.RotationAuthority, Former: "AAAA", Next: "AAAB", Link: "AAAC"})
		for revision := uint64(1); revision < 3; revision++ {
			time.Sleep(time.Minute)
			synctest.Wait()
			if v := f.view().Trust(); v.Revision != revision || f.count(command.KindAdvanceRotation) != int(revision)-1 {
				t.Fatalf("before the node is at revision %d: %+v, %d proposals", revision, v, f.count(command.KindAdvanceRotation))
			}
			f.user(t, &command.ConfirmTrust{Member: n1, Revision: revision})
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if v := f.view().Trust(); v.Revision != revision+1 {
				t.Fatalf("after the node is at revision %d: %+v", revision, v)
			}
		}
		if v := f.view().Trust(); v.Rotation != membership.RotationNone || v.Authority != "AAAB" {
			t.Errorf("at the end: %+v", v)
		}
	})
}
