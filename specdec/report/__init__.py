"""The page: reads claims and tables, draws, renders. No torch here."""
