"""Reports of the toolchain about a kernel, at Python lines."""
