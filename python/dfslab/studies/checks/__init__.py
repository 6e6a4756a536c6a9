"""The plausibility rules (the "lie detector"). A rule compares a performance figure with the known
facts of its measurement, and reports a finding if the figure contradicts the facts."""
