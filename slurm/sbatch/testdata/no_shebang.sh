#SBATCH --gpus=1
python train.py
