"""Tables, reports and progress bars for the commands' output."""

__all__: list[str] = []
