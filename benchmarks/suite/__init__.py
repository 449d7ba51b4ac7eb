"""What all benchmark cases share: clocks, data, and the table of results."""
