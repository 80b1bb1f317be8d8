// Package vm tests the units of deploy/ with a real systemd: a Debian 12 with systemd 252 in a virtual machine, in which
// a peer, an agent with simulated GPUs and a job run while units are restarted, stopped and killed.
//
// make vm installs the tools and runs it. It takes some minutes, since the processor is emulated.
package vm
