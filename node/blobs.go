package node

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// maxBlobs bounds the number of cached scripts and environments: jobs of one kind come in groups.
const maxBlobs = 256

// blobs fetches scripts and environments.
type blobs struct {
	*core
	kept    map[model.Hash]string
	order   []model.Hash // oldest first
	waiting map[model.Hash]bool
	retry   time.Time
}

func newBlobs(c *core) *blobs {
	return &blobs{core: c, kept: map[model.Hash]string{}, waiting: map[model.Hash]bool{}}
}

// get returns a cached content; a missing content is fetched for the next call.
func (b *blobs) get(h model.Hash) (string, bool) {
	if h.IsZero() {
		return "", true
	}
	text, ok := b.kept[h]
	if !ok && !b.waiting[h] && due(b.retry) {
		b.fetch(h)
	}
	return text, ok
}

func (b *blobs) fetch(h model.Hash) {
	b.waiting[h] = true
	b.beside(func() func() {
		ctx, cancel := context.WithTimeout(b.ctx, 3*patience)
		defer cancel()
		text, err := b.Cluster.Blob(ctx, h)
		return func() {
			delete(b.waiting, h)
			if err != nil {
				b.retry = later(againSoon)
				b.Log.Warn("cannot fetch a script or an environment", "err", err)
				return
			}
			b.keep(h, text)
		}
	})
}

func (b *blobs) keep(h model.Hash, text string) {
	if len(b.order) == maxBlobs {
		delete(b.kept, b.order[0])
		b.order = b.order[1:]
	}
	b.kept[h] = text
	b.order = append(b.order, h)
}
