"""What active vertices send: the stages, and the atomic operations that they are made of."""
