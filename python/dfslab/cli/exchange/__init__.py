"""Commands that import the results of other tools and check their plausibility, and modules that
convert the options of other tools."""
