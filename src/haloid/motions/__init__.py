"""Reference motions: readers, repair, checks and the motions this package makes itself."""
