package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// fleetCommands returns the commands; showQueue prints the queue for berth top.
func fleetCommands(showQueue func(io.Writer, *wire.Queue) error) []*cobra.Command {
	return []*cobra.Command{
		newNodes(), newDrain(), newCordon(), newUndrain(), newNode(), newReserve(), newPeers(), newTop(showQueue),
	}
}
