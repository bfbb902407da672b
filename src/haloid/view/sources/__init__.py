"""What can be shown: each source becomes what the stage plays."""
