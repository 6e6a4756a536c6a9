"""Draws the descriptions of file systems as UML: sequence diagrams, structure diagrams, and the
elements of the XMI export."""
