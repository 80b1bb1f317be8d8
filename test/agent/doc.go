// Package agent tests the agent of a node as a whole: with real supervisors and real processes, simulated
// GPUs, and a cluster that is a real state without peers.
package agent
