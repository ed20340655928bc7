"""Benchmarks: ``python -m benchmarks``. They report ratios within one run and assert nothing."""
