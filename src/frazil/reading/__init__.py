"""Finding: the IDs in what people paste, for the command and the service alike.

Who has an ID has a text: one word, a line of a log, a number that a database shows as negative. Few
know its encoding, and fewer its scheme. ``reading`` says which numbers a text may stand for,
``guess`` how well each fits each scheme, and ``search`` finds the words of a line that are IDs.
"""

__all__: list[str] = []
