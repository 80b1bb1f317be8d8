// Package admission decides whether a waiting task may start, no matter which GPUs are free: by limits, quotas of
// GPU time and pools, with what a plan has already given away. A [Ticket] is a task or a service that waits. A
// [Budget] is the room that is left under the limits.
//
//berth:pure
package admission
