"""Column registry and tables. No torch here."""
