"""Fill the tables of a run while its cells run: little is left to be done after the last one.

The cells are taken in the order of the plan, whatever order they end in, so the tables are those
that are filled at the end, byte for byte. Whoever writes the tables compares the keys
(`tables.write_of`), and fills them anew where they differ.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from fairc.runtime.store import tables
from fairc.runtime.store.folder import Store

from .analysts import MANY

# How long an interrupted run waits for the cells that are being added.
PATIENCE_S = 10.0


class Ahead:
    """Fills the tables of a locked store in a thread, with cells whose results are stored.

    Nothing is reported from here: where it fails the tables are filled at the end, and that reports
    it.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys: dict[
            str, str
        ] = {}  # of the cells that are there and not yet in the tables, by id
        self._news = threading.Condition()
        self._over = False
        self._filling: tables.Filling | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def on_result(self, cell: str, key: str) -> None:
        """Take note of a cell whose result is stored."""
        with self._news:
            self._keys[cell] = key
            self._news.notify()

    def end(self) -> tables.Filling | None:
        """Add no more; return the tables as they are, none where they cannot be used.

        They are the caller's to close.
        """
        with self._news:
            self._over = True
            self._news.notify()
        self._thread.join(PATIENCE_S)
        if self._thread.is_alive():
            return None
        filling, self._filling = self._filling, None
        return filling

    def close(self) -> None:
        """End, and keep nothing."""
        if (filling := self.end()) is not None:
            filling.close()

    def _work(self) -> None:
        filling = None
        try:
            plan = self._store.plan
            folder = self._store.scratch("tables")
            filling = tables.Filling(folder, tuple(axis.name for axis in plan.axes))
            for cell in self._store.cells():
                key = self._awaited(cell.id)
                if key is None:
                    break
                filling.add(tables.read_stored(cell, self._store.folder(key)))
            self._filling = filling
        except Exception:  # noqa: BLE001  the tables are filled at the end, and that reports it
            if filling is not None:
                with suppress(Exception):
                    filling.close()

    def _awaited(self, cell: str) -> str | None:
        """Return the key of a cell once its result is stored; None when no more are to be added."""
        with self._news:
            self._news.wait_for(lambda: self._over or cell in self._keys)
            return None if self._over else self._keys.pop(cell)


def ahead(store: Store, everything: bool) -> Ahead | None:
    """Fill the tables of a run from now on; none where it is not worth it, or the last cell is not
    known.

    everything: whether all cells of the plan are to be run.
    """
    plan = store.plan
    if not everything or plan.cells < MANY or plan.precision is not None:
        return None
    return Ahead(store)
