// Package notify tells the world what happened: it makes events of notices, and
// delivers them to webhooks.
//
// What is to be delivered stands in the state's outbox, written by the very transaction
// that made it known. The leader delivers (Run): due says what is to be tried now, a
// bounded number of goroutines for each receiver try, and how it went is a command. A
// leader that comes later goes on from the state: what was delivered and not yet noted
// is delivered again, under the same id.
package notify
