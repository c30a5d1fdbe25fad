"""Programs as data: variables, equations, outputs."""
