"""Reading IDs of unknown encoding and scheme, for the command and the service.

The input is a text: one word, a line of a log, a number that a database shows as negative.
``guess`` lists the numbers that a text may represent and scores how well each fits a scheme,
``foreign`` reads IDs of other systems, and ``search`` finds the words of a line that are IDs.
``capacity`` and ``proposals`` are about layouts, ``fleet_limits`` about a layout on a registry.
"""
