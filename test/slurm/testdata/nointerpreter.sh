#!/no/such/interpreter
#SBATCH --mem=50
echo never
