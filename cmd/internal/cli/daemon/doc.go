// Package daemon is what the program berth knows of the program berthd: the names of the commands that berthd carries out,
// where berthd is installed, and how berth replaces itself with berthd.
//
// The program berth is small and starts fast, because it holds only commands that send requests to a cluster. All code of
// peers and agents is in berthd. Users call either by the name berth.
package daemon
