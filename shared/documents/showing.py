"""Whether a page is drawn before anybody has looked at it, by what its own text leaves open."""

from __future__ import annotations

from shared.documents.page import OpenedPage

_SEEN_IMAGE, _SEEN_TRANSPARENT = 0.02, 0.1
"""Image coverage from which a page may show text that it does not say; the second where all images are transparent, as stamps and logos on
paper are: of those little or nothing is to be read (a stamp of 45 mm is 3 % of A4). Photographs of newspapers are small, too, but the
network tells their captions better from the large picture."""


def shows_more_than_it_says(page: OpenedPage, stamps: bool = False) -> bool:
    """Whether much of a page may be text that its own does not give: pictures, letters drawn as shapes, fonts without Unicode.

    `stamps`: all its images are transparent, and are seen in a small picture too.
    """
    if page.blank:
        return False
    least = _SEEN_TRANSPARENT if stamps else _SEEN_IMAGE
    if page.image_coverage >= least or any(line.visible and line.bad_unicode for line in page.lines):
        return True
    return not any(line.visible for line in page.lines)
