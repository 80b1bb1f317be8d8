// Package config is everything that can be set, in one table: how it is named in a
// file, in the environment and as a flag, what it is when nobody sets it, and what
// it means. Help texts, deploy/berth.example.yaml and docs/configuration.md are made
// of it.
//
//	setting.go  a row of the table
//	value.go    kinds of values; part.go sections of the file that have readers of their own
//	table.go    the rows of peers and commands; agent.go those of agents
//	cluster.go  the rows that the cluster as a whole has one value of
//	names.go    other names under which settings are known, and those without effect
//	load.go     from the layers to one configuration, and where each value came from
//	file.go     the layer of the file
//	flags.go    the layer of the flags
//	reload.go   what a running program takes over of a file that has changed
//	print.go    the table as an example and as a reference
//
// To add a setting, add a field to the struct of its owner and a row that points at
// it: that is all. The program finds the value in the field.
//
// A later layer wins over an earlier one: defaults, file, environment, flags. What
// the cluster has one value of is in the replicated state; files and environment of
// the peers that found a cluster give it its first value, and no more.
package config
