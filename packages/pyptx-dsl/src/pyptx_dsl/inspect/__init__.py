"""Reports of ptxas and nvdisasm about a kernel, located at Python lines."""
