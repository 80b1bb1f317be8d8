// Package packages tests what is published: what make release and make image have written to dist/, and what deploy/ has for
// Kubernetes, Ansible and compose.
//
// make packages-test installs the tools and runs all. go test ./test/packages alone runs what it finds the tools for.
package packages
