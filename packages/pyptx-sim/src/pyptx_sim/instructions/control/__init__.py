"""Instructions that say what is executed next."""
