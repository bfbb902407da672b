"""`haloid delta`: learn what the simulator lacks, and use it."""
