"""The plausibility rules (the "lie detector"). A rule checks a performance figure against what is
known of its measurement, and reports a finding if the two contradict each other."""
