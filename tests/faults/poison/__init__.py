"""Poison: documents that harm whoever works on them, in the four ways a process can be harmed.

What is planted: a remark at the end of a PDF (`planted`) that the document child of the layout_worker obeys when it opens a certain page, and
an id that the rec_worker itself obeys. The harm is real (a segmentation fault, an endless loop, memory to the limit, SIGKILL to the whole
worker), and so is everything that meets it: child protocol, runner, join, dead letters. Networks are the synthetic ones of the light profile.
"""
