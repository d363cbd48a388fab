#!/usr/bin/env python3
"""Writes test/golden/export.json: what PyTorch calls the tensors of every model, and what it answers with given weights.

Run by hand, with Debian's python3-torch:  /usr/bin/python3 scripts/golden_export.py
With a folder that `dbench export` made of one of the models in golden.py, it loads the weights strictly and prints the logits
of the same batch, and the largest difference from a JSON list of numbers in a second argument:
    /usr/bin/python3 scripts/golden_export.py NAME FOLDER [LOGITS.json]

Weights and batches are those of golden.py; running means are drawn like biases, running variances are 1 ± 0.2.
"""

import json
import pathlib
import struct
import sys

import numpy as np
import torch

from golden import CASES, batch_of, drawn, number, symmetric
from golden_onnx import imported


def filled(model):
    """The state of a module with numbers that the test knows too."""
    state, first = {}, {}
    for name, tensor in model.state_dict().items():
        shape = list(tensor.shape)
        tied = first.setdefault(tensor.data_ptr(), name)
        if tied in state:
            state[name] = state[tied]
        elif name.endswith("running_var"):
            state[name] = torch.from_numpy((1 + 0.2 * symmetric(name, shape)).astype(np.float32))
        elif not name.endswith("num_batches_tracked"):
            state[name] = drawn(name, shape)
    return state


def read_safetensors(path):
    """The format: eight bytes of length, a JSON header, the numbers."""
    content = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    assert header.pop("__metadata__")["format"] == "pt"
    tensors = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        dtype = {"F32": "<f4", "I64": "<i8", "BOOL": "?"}[entry["dtype"]]
        values = np.frombuffer(content[8 + length + start : 8 + length + end], dtype)
        tensors[name] = torch.from_numpy(values.reshape(entry["shape"]).copy())
    return tensors


def logits_of(case, state):
    settings, shape, classes, batch, _, build = case
    model = build()
    model.load_state_dict(state, strict=True)
    model = model.double().eval()
    x, _ = batch_of(settings, shape, classes, batch, torch.float64)
    with torch.no_grad():
        return model(x)


def main():
    if len(sys.argv) > 2:
        name, folder = sys.argv[1:3]
        logits = logits_of(CASES[name], read_safetensors(f"{folder}/model.safetensors")).flatten()
        print(f"{name}: strictly loaded, logits {logits[:4].tolist()} …")
        if len(sys.argv) > 3:
            given = torch.tensor(json.loads(pathlib.Path(sys.argv[3]).read_text()), dtype=torch.float64)
            print(f"largest difference {(given - logits).abs().max().item():.2e}, of {logits.abs().max().item():.3f}")
        return
    golden = {}
    for name, case in {**CASES, **imported()}.items():
        settings, shape, classes, batch, _, build = case
        state = filled(build())
        logits = logits_of(case, state)
        golden[name] = {
            "model": settings,
            "task": {"shape": shape, "classes": classes},
            "batch": batch,
            "stateDict": {name: list(tensor.shape) for name, tensor in state.items()},
            "logits": [number(value) for value in logits.flatten().tolist()],
        }
    path = pathlib.Path(__file__).parent.parent / "test" / "golden" / "export.json"
    path.write_text(json.dumps(golden, separators=(",", ":")).replace('"model":', '\n"model":') + "\n")


if __name__ == "__main__":
    main()
