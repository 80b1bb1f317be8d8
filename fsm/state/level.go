package state

// Feature levels from which on commands that were there before have other outcomes; see
// [command.LevelFollows], too.
const (
	levelLonger  = 2 // nobody extends a job that is in the way of a booking already
	levelBounded = 2 // what is placed without a time limit has that of max_run_time beside bookings, too
	levelUse     = 3 // what users use is counted to the instant, however short what runs is
)
