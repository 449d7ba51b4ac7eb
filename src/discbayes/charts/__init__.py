"""Pictures as data, which the HTML report renders as SVG and ``discbayes.plot`` with matplotlib.

``chart`` has axes and marks, ``evaluation_charts`` and ``training_charts`` describe charts with
them, and ``network_picture`` places the boxes and edges of a network.
"""
