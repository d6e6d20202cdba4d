"""The programs that networks_beside_peers compares, and their common modules."""
