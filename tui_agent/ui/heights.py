"""Prefix sums of heights: which entry is at a row, and at which row an entry starts, in O(log n)."""

from __future__ import annotations


class Heights:
    """A growing list of heights as a Fenwick tree."""

    def __init__(self) -> None:
        self._values: list[int] = []
        self._tree: list[int] = [0]
        self.total = 0
        """Sum of all heights."""

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> int:
        return self._values[index]

    def append(self, height: int) -> None:
        """Add an entry at the end."""
        self._values.append(height)
        node = len(self._values)
        # A node covers the entries that its lowest set bit counts: the new one and whole earlier nodes.
        value, child = height, node - 1
        while child > node - (node & -node):
            value += self._tree[child]
            child -= child & -child
        self._tree.append(value)
        self.total += height

    def truncate(self, count: int) -> None:
        """Keep the first `count` entries."""
        del self._values[count:]
        del self._tree[count + 1 :]
        self.total = self.start(count)

    def set(self, index: int, height: int) -> None:
        """Change one height."""
        change = height - self._values[index]
        self._values[index] = height
        self.total += change
        node = index + 1
        while change and node < len(self._tree):
            self._tree[node] += change
            node += node & -node

    def start(self, index: int) -> int:
        """The row at which an entry starts; for `len(self)` the total."""
        row = 0
        while index > 0:
            row += self._tree[index]
            index -= index & -index
        return row

    def find(self, row: int) -> tuple[int, int]:
        """The entry at a row (0 <= row < total) and the offset of the row in it."""
        node, step = 0, 1 << max(0, len(self._values).bit_length() - 1)
        while step:
            following = node + step
            if following < len(self._tree) and self._tree[following] <= row:
                node, row = following, row - self._tree[following]
            step >>= 1
        return node, row
