// Package devcluster runs a whole cluster as child processes of one program: peers and agents with
// simulated GPUs, as in real deployments, with their data below one folder.
//
// berth dev, berth demo, berth bench and the end-to-end tests are built on it.
package devcluster
