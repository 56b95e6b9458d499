"""What acme_1 brings to the simulator, which alone loads it."""
