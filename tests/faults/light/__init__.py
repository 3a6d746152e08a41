"""The light profile: real services, topics and store, with *synthetic readings* in place of networks, so that a page costs milliseconds.

What is synthetic: the program of the layout engine's child (`looker`) and of the reading engine's child (`reader`). They answer by the pixels
they are given, always the same. The vision-language server is the simulator. All else is what is shipped.
"""
