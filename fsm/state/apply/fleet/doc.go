// Package fleet carries out the commands on nodes and GPUs: registrations, renewals, reports, modes and losses.
//
//berth:pure
package fleet
