"""What parameters cannot explain: stand-ins for the real robot, and models of what a simulator lacks."""
