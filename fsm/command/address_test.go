package command

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
)

// What a node or a peer reports as its address is an address, or the command is refused:
// peers make requests to it.
func TestReportedAddresses(t *testing.T) {
	t.Parallel()
	register := func(address string) error {
		return (&Register{Node: "n1", Machine: "m", Boot: "b", Lineage: "l", Session: "s", Address: address}).Validate()
	}
	report := func(address string) error {
		return (&Report{Node: "n1", Reports: []model.Progress{{Phase: model.RankReady, Address: address, Port: 1}}}).Validate()
	}
	peer := func(raft, api string) error {
		return (&SetPeer{Peer: model.Peer{ID: "p1", RaftAddress: raft, APIAddress: api}}).Validate()
	}
	for what, v := range map[string]struct {
		err  error
		want bool
	}{
		"a node":                        {register("10.0.0.7:7070"), true},
		"a node that does not listen":   {register(""), true},
		"a node with a path":            {register("127.0.0.1:15555/latest/meta-data/iam?x="), false},
		"a node with a name":            {register("gpu1:7070"), true},
		"a node at the metadata":        {register("169.254.169.254:80"), false},
		"a rank":                        {report("10.0.0.7"), true},
		"a rank that is not ready":      {report(""), true},
		"a rank with a port":            {report("10.0.0.7:1"), false},
		"a rank with a name":            {report("gpu1;reboot"), false},
		"a rank at nowhere":             {report("0.0.0.0"), false},
		"a peer":                        {peer("10.0.0.1:7000", "p1.example.org:10000"), true},
		"a peer without an API":         {peer("10.0.0.1:7000", ""), true},
		"a peer whose API has a path":   {peer("10.0.0.1:7000", "p1:10000/x"), false},
		"a peer whose API is anywhere":  {peer("10.0.0.1:7000", "0.0.0.0:10000"), false},
		"a peer whose raft is no place": {peer("r", "p1:10000"), false},
	} {
		if (v.err == nil) != v.want {
			t.Errorf("%s: %v", what, v.err)
		}
	}
}
