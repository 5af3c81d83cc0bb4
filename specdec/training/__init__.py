"""Training drafters for a target: its own answers as data, a feature head or a few layers as the model."""
