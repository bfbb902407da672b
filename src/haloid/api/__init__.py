"""The front door: the functions of `import haloid`, each over the stage that does the work, as the commands are."""
