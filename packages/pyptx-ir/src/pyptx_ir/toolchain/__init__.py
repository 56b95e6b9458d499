"""Find and run ptxas, nvdisasm and cuobjdump; keep their results."""
