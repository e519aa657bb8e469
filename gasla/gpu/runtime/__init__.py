"""What the GPU engine stands on: NVRTC, and counters on the device."""
