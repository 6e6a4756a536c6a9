"""Draws the charts of the page as SVG when the page is written, so that the page needs no library
in the browser."""
