"""The sections of the page that have dedicated charts, one module each.

The page finds the modules in this folder and sorts them by `order`.
"""
