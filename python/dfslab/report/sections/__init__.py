"""The sections of the page that have dedicated charts, one module each.

Discovery finds them, and their `order` sorts them.
"""
