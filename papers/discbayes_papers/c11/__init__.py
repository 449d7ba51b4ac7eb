"""Carvalho, Roos, Oliveira and Myllymäki (2011)."""
