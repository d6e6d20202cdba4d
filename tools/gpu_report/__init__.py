"""The parts of tools/gpu-report."""
