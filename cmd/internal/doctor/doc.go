// Package doctor judges a machine of a cluster, or of a user: from facts about the machine it makes findings, each with a result and,
// unless all is well, a remedy. All of it is pure; cmd/internal/cli/examine and cmd/internal/inspect read the facts.
//
//	finding.go       findings and reports, and how they are printed
//	clock.go         clocks
//	disk.go          data folders and their disks
//	ports.go         ports, here and there; names and addresses
//	certificates.go  certificates and logins
//	host.go          control groups, units, limits of the kernel, accounts
//	driver.go        GPUs and their driver
//	cluster.go       versions, backups, quorum
//
//berth:single
package doctor
