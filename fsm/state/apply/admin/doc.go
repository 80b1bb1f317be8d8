// Package admin carries out the commands on the cluster as a whole: settings, peers, users and tokens, webhooks, and
// imports of state files.
//
//berth:pure
package admin
