// Package vm tests the units of deploy/ with a real systemd: a Debian 12 with systemd 252 in a virtual machine, in which
// a peer, an agent with simulated GPUs and a job run while units are restarted, stopped and killed.
//
//	vm_test.go       the test: what it needs, and one subtest for each case
//	image_test.go    the image of the system, kept in the user's cache folder
//	machine_test.go  the virtual machine, and the disk with what is tested
//	report_test.go   the results, as the guest writes them
//	image.sh         makes the image
//	guest.sh         the cases, run in the guest; tick.sh is their job
//
// make vm installs the tools and runs it. It takes some minutes, since the processor is emulated.
package vm
