"""The open questions of runs: the bar above the jobs and the page where they are answered."""
