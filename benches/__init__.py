"""Benchmarks of the Python face (`make bench`); Criterion's of the crate lie beside them."""
