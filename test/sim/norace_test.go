//go:build !race

package sim

// usualMinutes is how long a seed lasts unless a flag says otherwise.
const usualMinutes = 4
