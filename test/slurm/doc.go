// Package slurm compares Berth with a real Slurm: the scripts in testdata run on both, and what they find, write
// and end with is compared.
//
//	cases_test.go    the scripts, and what each is submitted with
//	compare_test.go  what is compared
//	exceptions_test.go  what is not, with the reasons
//	berth_test.go    berth dev
//	real_test.go     munged, slurmctld and two slurmd of the Debian package slurm-wlm
//
// Slurm's daemons need root and the programs; without them the test is skipped, unless SLURM_TEST_REQUIRED is set.
package slurm
