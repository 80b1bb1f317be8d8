// Package reserve makes backfill reservations: it keeps the GPUs that are expected to become free for the first jobs
// that find none, while later jobs use them in the meantime.
//
//   - timetable.go: when GPUs are expected to become free, and the reservations of a pass.
//   - finder.go: the first instant at which a job finds its GPUs.
//   - shift.go: other GPUs for reservations, if that makes room for a job now.
//
//berth:pure
package reserve
