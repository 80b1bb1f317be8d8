// Package backups holds the commands about backups of a cluster: berth backup.
//
//	backups.go  the command and its flags for keys
//	create.go   berth backup create
//	list.go     berth backup list
//	verify.go   berth backup verify
package backups
