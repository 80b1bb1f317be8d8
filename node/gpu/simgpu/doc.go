// Package simgpu simulates the GPUs of a node: real inventory, real processes, measured load, no hardware;
// and faults on demand.
//
// The GPUs belong to a data folder: their UUIDs are made once and stored there. A process is "on" a GPU if
// the GPU's UUID is in the variable BERTH_GPU_UUIDS of its environment, as /proc shows it; so a GPU is clean
// when the processes of its rank are really gone. Utilization is the CPU time of those processes over the
// time since the last sample, up to one core; used memory is what they have resident. The rest follows from
// utilization u in percent, as a loaded card of the kind shows it:
//
//	temperature = 32 + 46·u/100 °C
//	power       = 70 + 600·u/100 W, of 700
//	clock       = 345 + 1635·u/100 MHz
//
// # Faults
//
// The file faults.json next to the UUIDs breaks GPUs, by index or by UUID, for as long as it lists them:
//
//	{"0": {"xids": [79]}, "3": {"temperature": 90}, "GPU-4f...": {"lost": true}}
//
// Its fields are those of Fault. The file is read with every look, so a change counts within a second. Xids
// are raised whenever a GPU's list of them has changed. An unreadable file is an error that every GPU
// reports.
package simgpu
