"""The documents with the results of simulations of Petri nets, which several packages read."""
