package sched

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// budget counts what the plan adds to the use of each scope and job.
type budget struct {
	state *state.State
	added map[model.ScopeKey]added
	jobs  map[model.JobID]uint32
}

type added struct{ gpus, live uint32 }

func scopes(project, user string) []model.ScopeKey {
	out := []model.ScopeKey{{Kind: model.ScopeCluster}, {Kind: model.ScopeUser, Name: user}}
	if project != "" {
		out = append(out, model.ScopeKey{Kind: model.ScopeProject, Name: project})
	}
	return out
}

// allows says that the limits leave room for so many GPUs and live tasks more.
func (b *budget) allows(project, user string, gpus, live uint32) bool {
	for _, scope := range scopes(project, user) {
		limit, found := b.state.Limits.Get(scope)
		if !found {
			continue
		}
		used, _ := b.state.Usage.Get(scope)
		plus := b.added[scope]
		if over(limit.GPUs, used.GPUs+plus.gpus, gpus) || over(limit.GPUsPerJob, 0, gpus) ||
			live > 0 && over(limit.Live, used.Live+plus.live, live) {
			return false
		}
	}
	return true
}

func over(limit int64, used, add uint32) bool {
	return limit != model.Unlimited && int64(used)+int64(add) > limit
}

func (b *budget) use(project, user string, gpus, live uint32) {
	if b.added == nil {
		b.added = map[model.ScopeKey]added{}
	}
	for _, scope := range scopes(project, user) {
		plus := b.added[scope]
		b.added[scope] = added{plus.gpus + gpus, plus.live + live}
	}
}

func (b *budget) useJob(id model.JobID) {
	if b.jobs == nil {
		b.jobs = map[model.JobID]uint32{}
	}
	b.jobs[id]++
}
