"""Figures of this package, measured beside its peers in the same run: `python -m benchmarks NAME`."""
