"""What only the operating system knows: clocks, processes, threads, and the kind of host."""
