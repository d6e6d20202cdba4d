"""The parts of tools/sass-report."""
