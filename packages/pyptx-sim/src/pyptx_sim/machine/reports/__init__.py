"""What is said when a wave has ended, or never can."""
