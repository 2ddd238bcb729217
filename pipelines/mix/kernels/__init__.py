"""Numba kernels of mixing."""
