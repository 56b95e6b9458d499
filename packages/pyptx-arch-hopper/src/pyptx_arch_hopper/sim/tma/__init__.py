"""Bulk copies and tensor copies, their tensor maps, and accesses through the async proxy."""
