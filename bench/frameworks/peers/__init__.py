"""The programs that networks_beside_peers compares, and what they share."""
