"""Bulk copies and copies of boxes of tensors, their maps, and what is seen through their proxy."""
