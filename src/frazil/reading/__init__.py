"""Reading IDs of unknown encoding and scheme, for the command and the service.

The input is a text: one word, a line of a log, a number that a database shows as negative.
``spelling`` lists the numbers that a text may represent, ``guess`` scores how well each fits a
scheme, and ``search`` finds the words of a line that are IDs. ``capacity`` is about layouts, and
``fleet`` about a layout on a registry.
"""
