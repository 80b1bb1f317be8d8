// Package doctor judges a machine of a cluster, or of a user: from facts about the machine it makes findings, each with a result and,
// unless all is well, a remedy. All of it is pure; cmd/internal/cli/examine and cmd/internal/inspect read the facts.
//
//berth:single
package doctor
