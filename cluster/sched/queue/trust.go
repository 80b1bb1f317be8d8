package queue

import "github.com/berth-gpu/berth/fsm/model"

// How far run times are trusted, in fourths: all four where they have been right.
const (
	fullTrust = 4
	unproven  = 8 // run times off by a factor of two that are counted from the beginning
)

// trustOf returns how far run times that are known in advance are trusted: not at all where they have been off by
// a factor of two or more on average.
func trustOf(n *model.Totals) uint64 {
	made := n.Estimates + n.Histories + unproven
	off := (n.EstimatesOff + n.HistoriesOff + unproven*model.ErrorSteps) / made
	return ((model.ErrorSteps-min(off, model.ErrorSteps))*fullTrust + model.ErrorSteps/2) / model.ErrorSteps
}

// power returns the run time of a step over that of step 0, to the power of so many fourths, times 2^16.
func power(s model.Step, fourths uint64) uint64 {
	n := uint64(s) * fourths // sixteenths of a doubling, since a step is a fourth of one
	return sixteenths()[n%16] << (n / 16)
}

// sixteenths returns 2^(0/16) to 2^(15/16), times 2^16.
func sixteenths() [16]uint64 {
	return [16]uint64{
		65536, 68438, 71468, 74632, 77936, 81386, 84990, 88752,
		92682, 96785, 101070, 105545, 110218, 115098, 120194, 125515,
	}
}
