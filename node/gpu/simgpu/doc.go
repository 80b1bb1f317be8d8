// Package simgpu simulates the GPUs of a node: real inventory, real processes,
// measured load, no hardware.
//
// The GPUs belong to a data folder: their UUIDs are made once and stored there. Who
// is "on" a GPU is everyone with its UUID in the variable BERTH_GPU_UUIDS of their
// environment, as /proc shows it; so a GPU is clean when the processes of its rank
// are really gone. Utilization is the CPU time of those processes over the time
// since the last sample, up to one core; used memory is what they have resident.
// Temperature and power follow from utilization u in percent, as a loaded card of
// the kind shows them:
//
//	temperature = 32 + 46·u/100 °C
//	power       = 70 + 600·u/100 W, of 700
package simgpu
