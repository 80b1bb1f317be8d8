// Package fleet holds the commands about nodes, peers and reservations.
package fleet

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Commands returns the makers of the commands of this package; showQueue prints the queue for berth top, and ofCluster makes
// more commands of berth cluster.
func Commands(showQueue func(io.Writer, *wire.Queue) error, ofCluster func() []*cobra.Command) []cli.Maker {
	return []cli.Maker{
		{Name: "nodes", New: newNodes},
		{Name: "drain", New: newDrain},
		{Name: "cordon", New: newCordon},
		{Name: "undrain", New: newUndrain},
		{Name: "node", New: newNode},
		{Name: "reserve", New: newReserve},
		{Name: "peers", New: newPeers},
		{Name: "cluster", New: func() *cobra.Command { return newCluster(ofCluster()...) }},
		{Name: "top", New: func() *cobra.Command { return newTop(showQueue) }},
	}
}
