"""From the IR to Python text: names, syntax tree, flat lines, wrapped lines."""
