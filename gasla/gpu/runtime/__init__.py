"""Services for all kernels of the GPU engine: compiling, launching, waiting, and memory that several GPUs share."""
