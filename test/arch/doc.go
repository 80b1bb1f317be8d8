// Package arch holds the laws of this repository as tests: which packages may import
// which, what a pure package may not touch, how large a file may grow.
//
// A law is a function from a [Tree] (every file of the repository, parsed and
// type-checked) to a list of [Finding]s. [Laws] lists them all. TestTree runs
// each law on the repository itself; TestExamples runs each on small bad trees
// in testdata, so that a law that finds nothing any more is noticed, too.
//
// The laws check promises that a compiler does not. Peers replay
// one log and must reach one state, hence no clock, no goroutine and no map
// order in the packages that decide it. A reader must be able to understand one part
// at a time, hence the imports that must never be, and the bound of cycles.
//
// Markers that a law understands, each a comment on its own line:
//
//	//berth:pure            in the comment of a package: its functions depend on their arguments alone
//	//berth:single          in the comment of a package: it starts no goroutine, and make test runs its tests without the race detector
//	//berth:row             above a type: a table row, a plain value throughout
//	//berth:halt            above a function: it may end the process
//	//berth:bubble          anywhere in a file: its functions run in a synctest bubble only
//	// order-free: <why>    at a range over a map: the order does not matter, because
//
//berth:single
package arch
