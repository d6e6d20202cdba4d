"""Nothing: gemm needs no function of this module."""
