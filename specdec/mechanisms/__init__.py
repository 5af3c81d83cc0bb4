"""The mechanism ladder, measured: which cost eats the gain. Its figures: ``specdec.analysis.mechanisms``."""
