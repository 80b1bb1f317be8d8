// Package cli is the base of the program's commands: what commands of every kind have in common.
package cli
