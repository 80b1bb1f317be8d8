// Package setup holds the commands that make machines members of a cluster, and users' machines its clients.
//
//	init.go     berth init, which makes a new cluster
//	join.go     berth join, by which a machine becomes a peer or a node
//	login.go    berth login and berth logout
//	member.go   what init and join have in common: the data folder, the file of settings, the unit
//	address.go  the address under which others reach this machine
//	file.go     the file of settings
//	unit.go     units of systemd
package setup
