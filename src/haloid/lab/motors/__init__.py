"""What real motors do that an ideal servo does not: a class for each effect, and the drive train that has them all."""
