"""The programs that originals_beside_peers compares, and what they share."""
