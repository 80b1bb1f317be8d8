// Package packages tests what is published: what make release and make image have written to dist/, and what deploy/ has for
// Kubernetes, Ansible and compose.
//
//	needs_test.go    what the tests need, and programs that they run
//	config_test.go   cheap: scripts, and the files that the packages are made of
//	root_test.go     a Debian in a folder
//	deb_test.go      deb: install, upgrade, remove, purge; lintian, piuparts
//	rpm_test.go      rpm: the same by rpm --root
//	same_test.go     the same bytes twice, checksums, the list of parts
//	image_test.go    the container image, and the cluster of deploy/compose/compose.yaml by podman
//	helm_test.go     the chart
//	ansible_test.go  the role
//	first_test.go    how long it takes from the package to the end of the first job
//
// make packages-test installs the tools and runs all. go test ./test/packages alone runs what it finds the tools for.
package packages
