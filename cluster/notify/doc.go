// Package notify delivers notifications to webhooks: it makes events of notices, and sends them.
//
// Deliveries are in the state's outbox, written by the same transaction that made their event. The leader
// delivers (Run): due selects what to try now, a bounded number of goroutines for each receiver tries, and
// the outcome is a command. A later leader continues from the state: what was delivered and not yet noted is
// delivered again, under the same id.
package notify
