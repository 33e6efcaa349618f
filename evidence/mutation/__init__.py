"""Mutants of the code that the promise rests on; each is caught by a test, or explained."""
