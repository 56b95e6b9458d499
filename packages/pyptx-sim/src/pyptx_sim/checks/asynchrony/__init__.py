"""Asynchronous work and mbarriers beside the warps."""
