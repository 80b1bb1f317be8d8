package cluster

import (
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/test/sim/simdisk"
	"github.com/berth-gpu/berth/test/sim/simnet"
)

// A peer whose disk fails while raft starts returns an error; it does not hang.
func TestStartOnAFailingDiskReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(1)
		defer net.Close()
		disk := simdisk.New(1)
		handle := disk.Open()
		if err := handle.Stable().SetUint64([]byte("CurrentTerm"), 7); err != nil {
			t.Fatal(err)
		}
		disk.Fail(syscall.EIO, 0, simdisk.WriteStable)
		halted := make(chan error, 1)
		_, err := Start(Config{
			Self:    model.Peer{ID: "p1", RaftAddress: "p1:7000", Level: 1},
			Network: net.Host("p1"), Clock: &testClock{},
			Stores: Stores{Log: handle.Logs(), Stable: handle.Stable(), Snapshots: handle.Snapshots(), Folder: handle.Folder()},
			Halt:   func(err error) { halted <- err },
		})
		if err == nil {
			t.Error("the peer started")
		}
		if reason := <-halted; reason == nil {
			t.Error("the peer halted without a reason")
		}
		handle.Kill()
	})
}
