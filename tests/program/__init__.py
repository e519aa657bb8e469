"""Tests of vertex programs: what their functions may say, and what every engine makes of them."""
