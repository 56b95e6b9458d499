"""What a kernel promises: about its arrays, its parameters, and how it is launched."""
