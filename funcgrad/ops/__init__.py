"""The vocabulary: one record per primitive, each with the one derivative it is given."""
