"""The task: a robot that follows a reference, what the policy sees, what is rewarded and when an episode ends."""
