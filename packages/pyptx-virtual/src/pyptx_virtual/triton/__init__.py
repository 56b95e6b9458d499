"""The door for Triton and Gluon: their kernels compile to PTX, and launches run on the virtual device."""
