"""What each section of the page says: which names and which claim ids, never which number."""
