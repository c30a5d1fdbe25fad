"""One room per transformation: doors, forward, linearize, derivatives."""
