"""What `ptx` offers: instructions by group, their forms, and what stands between instructions."""
