"""Calibration: gains, friction, damping, rotors and delay of a robot's servos, from logs without a payload."""
