"""Reading: from files and frames to responses."""
