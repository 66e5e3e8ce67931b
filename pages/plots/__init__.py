"""The plots of the pages: inline SVG, drawn by matplotlib."""
