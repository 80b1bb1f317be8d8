// Package config holds all settings in one table: the names of each in a file, in the environment
// and as a flag, its default, and its meaning. Help texts, deploy/berth.example.yaml and
// docs/configuration.md are generated from it.
//
//	setting.go  a row of the table
//	value.go    kinds of values; part.go sections of the file that have readers of their own
//	table.go    the rows of peers and commands; agent.go those of agents
//	cluster.go  the rows that the cluster as a whole has one value of
//	names.go    other names under which settings are known, and those without effect
//	catalog.go  the table indexed by name; nearest.go guesses of misspelt names
//	load.go     from the layers to one configuration, and where each value came from
//	file.go     the layer of the file; trust.go which files are read, and by whose accounts they are written
//	flags.go    the layer of the flags
//	reload.go   what a running program takes over of a file that has changed
//	print.go    the table as an example and as a reference
//
// To add a setting, add a field to the struct of its owner and a row that points at the field. The
// program finds the value in the field.
//
// A later layer wins over an earlier one: defaults, file, environment, flags. Values of the cluster
// as a whole are in the replicated state; files and environment of the peers that found a cluster
// give only the first value.
//
//berth:single
package config
