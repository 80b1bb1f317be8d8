package model

import "slices"

// DefaultPolicy is the order of the queue of clusters that have chosen none.
const DefaultPolicy = "fair_share"

// Policies returns the names of the orders that a cluster can have; cluster/sched/queue carries them out.
func Policies() []string { return []string{DefaultPolicy, "priority", "fcfs", "sjf", "gang"} }

// KnownPolicy reports whether there is an order of that name.
func KnownPolicy(name string) bool { return slices.Contains(Policies(), name) }
