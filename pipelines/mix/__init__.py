"""Sampling and mixing: which documents stand in the dataset, how often, and in which order."""
