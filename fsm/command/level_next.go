//go:build berth_next_level

package command

// Level is one more than that of this program. Tests of upgrades build a program with the tag berth_next_level, which stands for
// that of the next release with a new level.
const Level uint32 = 2
