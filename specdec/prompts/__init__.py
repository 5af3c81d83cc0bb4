"""Prompts: families, exact lengths, development and held-out split, loaders for the user's own."""
