"""Parts of `.cpn` files other than the net itself: the layout, the monitors and the losses."""
