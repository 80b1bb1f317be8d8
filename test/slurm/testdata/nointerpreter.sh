#!/no/such/interpreter
#SBATCH --mem=100
echo never
