// Package search finds the best set of jobs to run: it suspends running jobs and starts waiting ones so that the most
// valuable set runs, and leaves an outlook to the passes until the next search.
//
//berth:pure
package search
