"""Searches for errors that go on for as long as one likes: exactness, forged files, fuzzing. Tests run some."""
