"""ASAP's pre-training (section II-B): its rewards, its ends of episodes; a preset of `haloid train`."""
