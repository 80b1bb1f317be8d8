// Package setup holds the commands that make machines members of a cluster, and users' machines its clients.
package setup
