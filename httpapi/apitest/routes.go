package apitest

import "strings"

// Filled is a rule's path with something in the place of each name.
func Filled(path string) string {
	return strings.NewReplacer("{job_id}", "1", "{node_id}", "n1", "{uuid}", "GPU-1", "{scope}", "user", "{name}", "ann",
		"{reservation_id}", "1", "{token_id}", "0", "{user}", "ann", "{webhook_id}", "wh_1", "{path:.*}", "jobs/1",
		"/events", "/events?once=true").Replace(path)
}
