// Package slurm compares Berth with a real Slurm: the scripts in testdata run on both, and what they find, write
// and end with is compared.
//
// Slurm's daemons need root and the programs; without them the test is skipped, unless SLURM_TEST_REQUIRED is set.
package slurm
