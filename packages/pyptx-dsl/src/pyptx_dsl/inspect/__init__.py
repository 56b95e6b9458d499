"""What the toolchain says about a kernel, told in lines of Python."""
