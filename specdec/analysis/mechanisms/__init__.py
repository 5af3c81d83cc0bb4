"""The mechanism ladder in figures: rows and claims from what ``specdec.mechanisms`` measured."""
