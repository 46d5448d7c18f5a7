"""Parts of schedules in plain words: words and numbers, times of day, days, durations."""
