package node

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
)

// burial ends ranks whose supervisors are gone.
type burial struct {
	*core
	book *book
	said time.Time // when it was last said what a rank has left
}

// bury ends what is left of ranks whose supervisors are gone, and writes down that
// they were killed.
func (b *burial) bury() {
	for _, u := range b.book.units {
		if u.phase == model.RankRunning && !u.life.alive && !u.life.busy && u.life.reads == 0 && due(u.retry) {
			u.life.busy = true
			record, status := u.record, u.status
			exit := model.Exit{Signal: 9, Fenced: u.desk.Kill, Delivered: status.Delivered}
			if status.Ended != nil { // the job itself had ended before
				exit = *status.Ended
				exit.Delivered = status.Delivered
			}
			b.beside(func() func() {
				left, err := b.inter(u.name, record, status, exit)
				return func() { b.buried(u, left, err) }
			})
		}
	}
}

// inter kills what is left of a rank, and writes its end down once nothing is; left is why
// that is not shown yet.
func (b *burial) inter(name string, r *runner.Record, s runner.Status, exit model.Exit) (left, err error) {
	for pause := time.Millisecond; ; pause *= 2 {
		if left = b.Runner.Bury(r, s); left == nil {
			break
		}
		if pause > againSoon {
			return left, nil
		}
		select {
		case <-time.After(pause):
		case <-b.ctx.Done():
			return left, nil
		}
	}
	return nil, b.book.folder(name, func(f *runner.Folder) error {
		if _, err := f.Exit(); err == nil {
			return nil // its supervisor was faster
		}
		if err := f.SetExit(exit); err != nil {
			return err
		}
		return f.SyncExit()
	})
}

func (b *burial) buried(u *unit, left, err error) {
	u.life.busy, u.retry = false, later(againSoon)
	switch {
	case err != nil:
		b.Log.Error("the end of a rank cannot be written down", "rank", u.record.Rank, "err", err)
	case left != nil:
		if time.Since(b.said) > 2*againLater {
			b.said = time.Now()
			b.Log.Warn("a rank's supervisor was killed, and the rank has not ended yet: its GPUs stay its own", "rank", u.record.Rank, "why", left)
		}
	default:
		b.Log.Warn("a rank's supervisor was killed; what it had left was ended", "rank", u.record.Rank)
		b.book.reread(u)
	}
}
