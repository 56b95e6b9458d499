"""`wgmma`, its fences and groups, and the checks of its registers."""
