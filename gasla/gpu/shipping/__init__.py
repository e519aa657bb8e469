"""Makes the GPU machine code ("cubins") that a wheel contains, on a machine without a GPU.

The CUDA sources that gasla's functions need are recorded, and then compiled.
"""
