#!/usr/bin/env python3
"""PyTorch's side of bench/perplexity.ts: trains from the given parameters on the given batches, and prints the mean loss on the rest."""

import json
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "scripts"))
from golden import TimeFirst  # noqa: E402

torch.set_num_threads(1)
folder = pathlib.Path(sys.argv[1])
about = json.loads((folder / "about.json").read_text())
model = TimeFirst(about["vocabulary"], about["layers"], about["heads"], about["width"], about["context"])
start = torch.from_numpy(np.fromfile(folder / "start.bin", np.float32))
parameters = dict(model.named_parameters())
sizes = [int(np.prod(tensor["shape"])) for tensor in about["tensors"]]
with torch.no_grad():
    for tensor, values in zip(about["tensors"], start.split(sizes)):
        parameters[tensor["name"]].copy_(values.view(tensor["shape"]))
batches = np.fromfile(folder / "batches.bin", np.int32).reshape(-1, 2, about["context"], about["batch"]).astype(np.int64)
groups = [
    {"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": about["weightDecay"]},
    {"params": [p for p in model.parameters() if p.dim() <= 1], "weight_decay": 0},
]
optimizer = torch.optim.AdamW(groups, about["learningRate"])
losses = []
for step, (x, labels) in enumerate(torch.from_numpy(batches)):
    if step == about["steps"]:
        torch.set_grad_enabled(False)
    loss = F.cross_entropy(model(x), labels.flatten())
    if step >= about["steps"]:
        losses.append(loss.item())
        continue
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(sum(losses) / len(losses))
