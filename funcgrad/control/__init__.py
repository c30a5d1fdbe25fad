"""Control flow that is recorded once: `scan`, `while_loop`, `cond` and their kin."""
