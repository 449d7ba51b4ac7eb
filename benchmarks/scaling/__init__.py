"""More rows than memory: what is measured on files, how costs grow, and the page that says so
(``scale.py``).
"""
