"""Random multithreaded programs: a generator, their PTX, and a reference implementation."""
