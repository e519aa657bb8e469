"""Support for the GPU engine: compiling and launching kernels, and their counters in device memory."""
