package contain

import (
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/image/root"
	"github.com/berth-gpu/berth/slurm/container"
)

// TestEnvironment checks which of two values a variable has.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	job := []string{"PATH=/job", "LD_LIBRARY_PATH=/job/lib", "MODE=job", "OTHER=1", "SLURM_PROCID=3", "CUDA_VISIBLE_DEVICES=0,1", "HOME=/users/ann", "BERTH_NODE=a"}
	image := []string{"PATH=/image", "MODE=image", "SLURM_PROCID=9", "CUDA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES=all", "BERTH_NODE=x", "broken"}
	for _, c := range []struct {
		o      container.Options
		image  []string
		driver bool
		want   string
	}{
		{container.Options{}, image, false, "BERTH_NODE=a CUDA_VISIBLE_DEVICES=0,1 HOME=/users/ann MODE=image NVIDIA_VISIBLE_DEVICES=all OTHER=1 PATH=/bin.slurm:/image SLURM_PROCID=3"},
		{container.Options{Env: []string{"MODE", "PATH"}}, image, false, "BERTH_NODE=a CUDA_VISIBLE_DEVICES=0,1 HOME=/users/ann MODE=job NVIDIA_VISIBLE_DEVICES=all OTHER=1 PATH=/bin.slurm:/job SLURM_PROCID=3"},
		{
			container.Options{Root: true}, nil, true, "BERTH_NODE=a CUDA_VISIBLE_DEVICES=0,1 HOME=/root LD_LIBRARY_PATH=" + root.DriverLibraries + " LOGNAME=root MODE=job OTHER=1 PATH=/bin.slurm:" +
				defaultPath + ":" + root.DriverPrograms + " SLURM_PROCID=3 USER=root",
		},
		{container.Options{}, []string{"LD_LIBRARY_PATH=/a:" + root.DriverLibraries, "PATH=/a"}, true, "BERTH_NODE=a CUDA_VISIBLE_DEVICES=0,1 HOME=/users/ann LD_LIBRARY_PATH=/a:" +
			root.DriverLibraries + " MODE=job OTHER=1 PATH=/bin.slurm:/a:" + root.DriverPrograms + " SLURM_PROCID=3"},
	} {
		if got := environment(job, c.image, &c.o, "/bin.slurm", c.driver); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%+v: %q, want %q", c.o, got, strings.Fields(c.want))
		}
	}
}
