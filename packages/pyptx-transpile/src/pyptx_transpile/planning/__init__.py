"""The rewrites of a function body, and the shapes of its statements."""
