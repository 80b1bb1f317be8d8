//go:build !berth_next_level

package command

// Level is the feature level of this program: the greatest level whose outcomes of commands it knows.
const Level uint32 = 1
