"""The compiled loops of readers."""
