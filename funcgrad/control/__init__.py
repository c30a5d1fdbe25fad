"""Control flow that is recorded once, and solutions of equations, differentiated by what they solve."""
