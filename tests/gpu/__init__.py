"""Tests of gasla.gpu: compiled by NVRTC, emulated by g++, and, marked `gpu`, on a device."""
