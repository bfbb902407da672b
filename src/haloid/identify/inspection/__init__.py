"""What a recording could tell, before anything is identified."""
