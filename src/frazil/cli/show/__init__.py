"""Tables, reports and progress bars for the commands' output."""
