"""Tests of gasla.compiler and gasla.shipping: the kernel language, and the object code that is shipped."""
