"""Solutions of equations, differentiated by what they solve and not by how they were found."""
