"""The decoder layer in C for float32 on CPUs: compiled where it runs, checked against torch, or not used."""
