"""Write the small networks that the tests of the file formats read back.

Run it with ``python tests/golden/make_models.py``; it replaces ``network_v1.json``, ``network.mn``
and ``network.uai`` beside it. ``network_v1.json`` stands for all files of version 1 of the native
format, which must stay readable: when the version changes, give the new file a new name. The file
``every_form.mn`` is written by hand, since we write only some of the forms that we read.
"""

from __future__ import annotations

from pathlib import Path

from feldspar.features import Conjunction
from feldspar.io.libra import write_libra
from feldspar.io.native import write_native
from feldspar.io.uai import write_uai
from feldspar.network import MarkovNetwork
from feldspar.schema import Schema


def golden_network() -> MarkovNetwork:
    """Return a network with labels of every type, value sets, and weights that need all digits."""
    schema = Schema(
        [2, 3, 2, 4],
        names=["smoker", "age", "größe", "dose"],
        labels=[[False, True], ["young", "middle", "old"], [1, 2], [0.0, 0.5, 1.5, 2.0]],
    )
    terms: list[tuple[Conjunction, float]] = [
        ([("smoker", True)], -0.1),
        ([("smoker", True), ("age", {"middle", "old"})], 1 / 3),
        ([("age", "young"), ("dose", {0.0, 0.5, 2.0})], 2.5e-17),
        ([("smoker", False), ("age", "old"), ("größe", 1), ("dose", 2.0)], -1.2345678901234567),
    ]
    return MarkovNetwork.from_terms(schema, terms, metadata={"learner": "by hand", "seed": 7})


def main() -> None:
    """Write the files beside this script."""
    folder = Path(__file__).parent
    network = golden_network()
    write_native(network, folder / "network_v1.json")
    write_libra(network, folder / "network.mn")
    write_uai(network, folder / "network.uai")


if __name__ == "__main__":
    main()
