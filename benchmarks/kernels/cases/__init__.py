"""The rows: a file for each subject, each with its `CASES`."""
