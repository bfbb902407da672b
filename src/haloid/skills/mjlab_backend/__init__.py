"""The tracking task in mjlab, for GPUs: the same task, HALO's randomisation, the identified robot (extra `mjlab`)."""
