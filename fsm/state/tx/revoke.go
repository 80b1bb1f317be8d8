package tx

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
)

// Revoke makes the cluster refuse all certificates that a member has so far. Certificates state whole seconds.
func Revoke(t *Tx, row membership.Certificate) {
	second := model.Time(time.Second)
	row.Since, row.Revoked, row.By = max(row.Since, (t.Clock/second+1)*second), true, t.Actor
	row.Expires = max(row.Expires, row.Since)
	t.Certificates.Put(row)
}
