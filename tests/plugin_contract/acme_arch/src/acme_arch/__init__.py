"""Plugin for the fictitious acme_1, which extends sm_90 by instructions."""
