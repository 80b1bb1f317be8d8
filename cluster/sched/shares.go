package sched

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Portion is what a project, or a user within one, has had of what is fair.
type Portion struct {
	Key    model.ShareKey // User is empty: the project as a whole
	Shares int64
	Used   int64  // GPU-seconds, decayed
	Part   uint64 // in percent of a fair one
	GPUs   uint32 // held now
}

// Portions lists what projects and the users within them have used lately at the time
// now, in order of project and user, each project before its users. It is what the order
// of fair share goes by, before the weight of shares bends it.
func Portions(s *state.State, now model.Time) (out []Portion) {
	set := s.Settings()
	half := tuningOf(&set).HalfLife
	var all, weights int64
	first := 0 // the project at hand
	for k, share := range s.Shares.All() {
		if len(out) == 0 || out[first].Key.Project != k.Project {
			first = len(out)
			p := Portion{Key: model.ShareKey{Project: k.Project}, Shares: weightOf(s, model.ScopeProject, k.Project)}
			out, weights = append(out, p), weights+p.Shares
		}
		u := Portion{Key: k, Shares: weightOf(s, model.ScopeUser, k.User), Used: share.UsedAt(max(now, set.Clock), half), GPUs: share.GPUs}
		out = append(out, u)
		out[first].Used += u.Used
		out[first].GPUs += u.GPUs
		all += u.Used
	}
	for i := range out {
		if out[i].Key.User == "" {
			related(out[i:], all, weights)
		}
	}
	return out
}

// related relates a project to all, and the users that follow it to the project.
func related(of []Portion, all, weights int64) {
	project := &of[0]
	n, among := 1, int64(0)
	for ; n < len(of) && of[n].Key.User != ""; n++ {
		among += of[n].Shares
	}
	part := portion(project.Used, all, project.Shares, weights)
	project.Part = part * 100 >> 8
	for i := 1; i < n; i++ {
		of[i].Part = part * portion(of[i].Used, project.Used, of[i].Shares, among) >> 8 * 100 >> 8
	}
}
