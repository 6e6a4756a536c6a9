"""Charts of the page, drawn as SVG when the page is written, so that the page needs no library in
the browser."""
