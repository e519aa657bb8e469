"""Tests of gasla.algorithms: a folder for each family; those of several families lie here."""
