package node

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Bounds of the cached scripts and environments: jobs of one kind come in groups.
const (
	maxBlobs     = 256
	maxBlobBytes = 16 << 20 // the newest stays, however large
)

// blobs fetches scripts and environments.
type blobs struct {
	*core
	kept    map[model.Hash]string
	order   []model.Hash // oldest first
	bytes   int          // of kept
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
	b.background(func() func() {
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
	for len(b.order) == maxBlobs || len(b.order) > 0 && b.bytes+len(text) > maxBlobBytes {
		b.bytes -= len(b.kept[b.order[0]])
		delete(b.kept, b.order[0])
		b.order = b.order[1:]
	}
	b.bytes += len(text)
	b.kept[h] = text
	b.order = append(b.order, h)
}
