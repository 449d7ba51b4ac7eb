"""Why the classifier says what it says, what would change its mind, and what to ask next."""
