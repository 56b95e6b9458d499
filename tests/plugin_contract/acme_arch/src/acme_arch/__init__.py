"""The made-up acme_1: everything sm_90 has, and an instruction of its own."""
