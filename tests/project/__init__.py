"""Tests of the repository: its pages, site, layers and community files, and of the tests themselves."""
