// Package fleet holds the commands about nodes, peers and reservations.
//
//	nodes.go       nodes, GPUs and peers
//	operate.go     changes of nodes: drain, cordon, undrain, confirm-dead, retire
//	label.go       the labels of nodes
//	reserve.go     reservations
//	top.go         a live view
//	history.go     graphs of what GPUs measured
package fleet

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Commands returns the commands of this package; showQueue prints the queue for berth top, and ofCluster are more commands
// of berth cluster.
func Commands(showQueue func(io.Writer, *wire.Queue) error, ofCluster ...*cobra.Command) []*cobra.Command {
	return []*cobra.Command{
		newNodes(), newDrain(), newCordon(), newUndrain(), newNode(), newReserve(), newPeers(), newCluster(ofCluster), newTop(showQueue),
	}
}
