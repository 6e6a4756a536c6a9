"""Reads nets from PNML, the XML format of ISO/IEC 15909-2, and writes them."""
