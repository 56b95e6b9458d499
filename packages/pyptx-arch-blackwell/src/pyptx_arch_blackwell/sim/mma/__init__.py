"""Products in tensor memory: `tcgen05.mma`, dense and sparse, scaled, weight-stationary, of one block and of a pair."""
