// Package view converts the state to the API's answers. All functions are pure: they read one state
// and write nothing.
//
//	job.go         a job in a list, and the parts of one; shown.go hides what the caller may not see
//	task.go        tasks of an array, and dependencies
//	detail.go      everything about a job, and why it waits
//	page.go        the queue, page by page, and its statistics
//	plan.go        the forecast
//	warnings.go    warnings about an accepted submission
//	allocation.go  GPUs of services
//	fleet.go       nodes, GPUs and reservations
//	access.go      users, tokens, quotas, policies
//	audit.go       records of the audit trail, and deliveries to webhooks
//	saved.go       a service as a request
//
//berth:pure
package view
