package command

// Lane is a way into the log. Control commands keep jobs alive, so they travel before user commands, in
// entries of their own, and are never refused for load.
type Lane uint8

// The lanes.
const (
	LaneUser Lane = iota
	LaneControl
	LaneCount // of lanes
)

// MaxControlEntry bounds an entry of control commands, in bytes.
const MaxControlEntry = 64 << 10

// Room returns how many bytes the commands of several callers may take that share an entry of the lane.
func (l Lane) Room() int {
	if l == LaneControl {
		return MaxControlEntry
	}
	return 512 << 10
}
