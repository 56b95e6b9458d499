"""Plugins: hook specifications, their rows, and the manager that loads them."""
