"""A model-based controller for tracking a motion: feed-forward targets and linear feedback, tabled frame by frame."""
