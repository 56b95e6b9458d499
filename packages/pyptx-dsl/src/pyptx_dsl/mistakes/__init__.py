"""What users got wrong, found in their own line and told in its words."""
