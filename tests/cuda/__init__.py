"""CUDA C++ as people write it, compiled by the nvcc on PATH when the tests run (`pytest --cuda`), on the simulator."""
