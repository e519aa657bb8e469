"""Topological orders and longest paths of acyclic graphs."""
