"""What a study will cost before it starts. Apart from measuring: nothing here is ever a result."""
