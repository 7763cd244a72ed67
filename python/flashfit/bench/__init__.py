"""`python -m flashfit.bench`: flashfit beside whatever else is installed that does the same, in one interleaved run.

docs/speed/README.md says how it measures, docs/results.md what it writes. PyTorch is imported here where it is there;
without it flashfit is measured alone, on NumPy arrays.
"""
