"""View: recordings, identifications, motions, rollouts and policies as a robot that moves, in a browser or a file."""
