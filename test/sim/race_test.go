//go:build race

package sim

// usualMinutes is how long a seed lasts unless a flag says otherwise: under the
// race detector a minute costs ten times as much, and CI must end some time.
const usualMinutes = 2
