// Package config holds all settings in one table: the names of each in a file, in the environment
// and as a flag, its default, and its meaning. Help texts, deploy/berth.example.yaml and
// docs/configuration.md are generated from it.
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
