"""What proposes tokens: one module per kind of drafter."""
