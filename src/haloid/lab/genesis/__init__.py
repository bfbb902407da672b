"""Genesis as the robot: a second simulator, in an environment and a process of its own, plays what MuJoCo plays."""
