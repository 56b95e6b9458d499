"""What Hopper brings to the simulator, which alone loads it."""
