"""The workbench for NVIDIA GPU assembly language in Python."""
