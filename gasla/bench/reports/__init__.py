"""What a run of `gasla bench` leaves: a table, a file, a picture, and with what it was measured."""
