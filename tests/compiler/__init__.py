"""Tests of gasla.compiler: the kernel language, and the object code that is shipped."""
