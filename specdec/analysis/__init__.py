"""From recorded counts and times to ratios, intervals, verdicts and claims. No torch here."""
