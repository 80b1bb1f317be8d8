
#!/bin/bash
#SBATCH --gpus=1
