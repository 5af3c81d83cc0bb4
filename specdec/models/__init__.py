"""Models: where they come from, how they are loaded, what runs them, and the door to the device."""
