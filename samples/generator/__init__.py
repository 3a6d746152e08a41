"""Seeded documents with exact truth: `python -m samples.generator --seed 7 --pages 200 --out DIR [--scan]`.

All texts are our own, all fonts come with the development dependencies. The same seed gives the same bytes.
"""

from samples.generator.book import Made, generate

__all__ = ["Made", "generate"]
