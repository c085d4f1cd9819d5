"""The bench of derivatives on GPUs: what they cost as machine code, and, with a GPU, in time."""
