"""From a corpus to training files: readers -> encoder -> writers, with a manifest. Needs the `corpus` extra (pyarrow, fsspec)."""
