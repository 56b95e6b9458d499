"""Ordinary CUDA C++ on the simulator, compiled by the nvcc on PATH when the tests run (`pytest --cuda`)."""
