// Package reserve makes backfill reservations: it keeps the GPUs that are expected to become free for the first jobs
// that find none, while later jobs use them in the meantime.
//
//berth:pure
package reserve
