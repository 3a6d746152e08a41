"""Texts of crops that were read before: exact pixels, exact model, exact padded width.

Printed forms and re-delivered pages repeat a quarter of their crops; scans never do (their noise differs), and hashing costs
about 0.1 ms against 20 ms for reading. Approximate hashes gave no more hits and are not used.
Crops that are being read right now count too: the second asker waits for the first one's answer.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from concurrent.futures import Future

import numpy as np
import numpy.typing as npt

from services.rec_worker.inference import Text


def crop_key(pixels: npt.NDArray[np.uint8], bucket: int, model: str) -> bytes:
    """Key of a crop: 16 bytes of blake2b over model, bucket, shape, dtype and pixels."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{model}\0{bucket}\0{pixels.shape}\0{pixels.dtype.str}\0".encode())
    digest.update(np.ascontiguousarray(pixels).data)
    return digest.digest()


class CropCache:
    """Least recently used texts, at most `limit` of them (0 keeps nothing, crops under way are shared all the same).

    Thread safe. Failures are never remembered.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, Text] = OrderedDict()
        self._under_way: dict[bytes, Future[Text]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def ask(self, key: bytes) -> tuple[Future[Text], bool]:
        """The (coming) text of a crop, and whether the asker must see to it (`False` is a hit).

        Who is told `True` fulfils the future, whatever happens.
        """
        with self._lock:
            if (text := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                known: Future[Text] = Future()
                known.set_result(text)
                return known, False
            if (pending := self._under_way.get(key)) is not None:
                return pending, False
            future: Future[Text] = Future()
            self._under_way[key] = future
        future.add_done_callback(lambda done: self._keep(key, done))
        return future, True

    def _keep(self, key: bytes, future: Future[Text]) -> None:
        with self._lock:
            self._under_way.pop(key, None)
            if self._limit > 0 and not future.cancelled() and future.exception() is None:
                self._known[key] = future.result()
                while len(self._known) > self._limit:
                    self._known.popitem(last=False)
