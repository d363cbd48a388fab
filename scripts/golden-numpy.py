#!/usr/bin/env python3
"""Writes test/golden/numpy.json: arrays as NumPy stores them, in base64, for src/data/numpy.test.ts.

Run by hand:  python3 scripts/golden-numpy.py
"""

import base64
import io
import json
import pathlib

import numpy as np


def stored(write):
    file = io.BytesIO()
    write(file)
    return base64.b64encode(file.getvalue()).decode()


small = np.arange(6).reshape(2, 3)
arrays = {
    "f4": small.astype("<f4") / 4,
    "big-endian": (small / 4).astype(">f8"),
    "fortran": np.asfortranarray(small.astype("i2") - 3),
    "half": np.array([1.5, -2, 0.0001, np.inf], "f2"),
    "bool": np.array([True, False]),
    "i8": np.array([-7, 2**40]),
    "u1": small.astype("u1"),
    "scalar": np.array(3.0),
    "empty": np.zeros((0, 3), "f4"),
    "text": np.array(["a", "bc"]),
    "object": np.array([{}], dtype=object),
}
golden = {name: stored(lambda file: np.save(file, array)) for name, array in arrays.items()}
pair = {"x": small.astype("f4"), "y": np.array([0, 1])}
golden["npz"] = stored(lambda file: np.savez(file, **pair))
golden["npz, compressed"] = stored(lambda file: np.savez_compressed(file, **pair))
path = pathlib.Path(__file__).parent.parent / "test" / "golden" / "numpy.json"
path.write_text(json.dumps(golden, indent=2) + "\n")
