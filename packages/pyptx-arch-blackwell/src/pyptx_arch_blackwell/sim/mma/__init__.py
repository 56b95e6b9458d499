"""`tcgen05.mma`: dense and sparse, block-scaled, weight-stationary, for one CTA and for a CTA pair."""
