"""A scheme says how a number is cut and shown: a layout, a shuffle and a text, by one name."""
