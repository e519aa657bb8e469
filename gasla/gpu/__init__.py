"""The GPU engine: CUDA kernels made from programs, compiled by NVRTC, launched through CuPy."""
