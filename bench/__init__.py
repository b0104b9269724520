"""Benchmarks: speed, memory and equality with peers, measured in one run."""
