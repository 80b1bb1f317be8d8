package root

import (
	"errors"
	"slices"
	"testing"
)

// TestLibraries checks which libraries belong to the driver: those whose files have its version, in 64 bits, each once.
func TestLibraries(t *testing.T) {
	t.Parallel()
	version := driverVersion("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\nGCC version:  gcc version 12.2.0\n")
	if version != "550.90.07" {
		t.Fatalf("the version is %q", version)
	}
	if open := driverVersion("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build\n"); open != "570.124.06" {
		t.Errorf("the version of the open driver is %q", open)
	}
	files := map[string]string{
		"/lib/x86_64-linux-gnu/libcuda.so.1": "/lib/x86_64-linux-gnu/libcuda.so.550.90.07", "/lib/x86_64-linux-gnu/libcuda.so": "/lib/x86_64-linux-gnu/libcuda.so.550.90.07",
		"/lib/i386-linux-gnu/libcuda.so.1":        "/lib/i386-linux-gnu/libcuda.so.550.90.07",
		"/lib/x86_64-linux-gnu/libnvidia-ml.so.1": "/lib/x86_64-linux-gnu/libnvidia-ml.so.550.90.07",
		"/usr/local/cuda/lib64/libcudart.so.12":   "/usr/local/cuda/lib64/libcudart.so.12.4.99",
		"/opt/old/libcuda.so.1":                   "/opt/old/libcuda.so.535.54.03",
	}
	list := `5 libs found in cache
	libnvidia-ml.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libnvidia-ml.so.1
	libcudart.so.12 (libc6,x86-64) => /usr/local/cuda/lib64/libcudart.so.12
	libcuda.so.1 (libc6,x86-64) => /opt/old/libcuda.so.1
	libcuda.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libcuda.so.1
	libcuda.so.1 (libc6) => /lib/i386-linux-gnu/libcuda.so.1
	libcuda.so (libc6,x86-64) => /lib/x86_64-linux-gnu/libcuda.so
	libgone.so (libc6,x86-64) => /lib/x86_64-linux-gnu/libgone.so
`
	resolve := func(path string) (string, error) {
		if file := files[path]; file != "" {
			return file, nil
		}
		return "", errors.New("no such file")
	}
	var got []string
	for _, b := range libraries(list, version, resolve) {
		if !b.ReadOnly {
			t.Errorf("%s can be written", b.Target)
		}
		got = append(got, b.Source+" "+b.Target)
	}
	want := []string{
		"/lib/x86_64-linux-gnu/libcuda.so.550.90.07 " + DriverLibraries + "/libcuda.so",
		"/lib/x86_64-linux-gnu/libcuda.so.550.90.07 " + DriverLibraries + "/libcuda.so.1",
		"/lib/x86_64-linux-gnu/libnvidia-ml.so.550.90.07 " + DriverLibraries + "/libnvidia-ml.so.1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the libraries are %q", got)
	}
	if none := libraries(list, "", resolve); none != nil {
		t.Errorf("without a version: %v", none)
	}
}
