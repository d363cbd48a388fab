#!/usr/bin/env python3
"""Networks in full size from PyTorch through DBench and back: exported to ONNX, trained for one step, exported, loaded strictly.

Run by hand, with Debian's python3-torch, python3-torchvision and python3-onnx, after `npm run build`:

    /usr/bin/python3 scripts/own_models.py FOLDER [--opset 17] [--eval] [--fixed] [resnet18 …]

Each network is exported with its weights, and its step compared with PyTorch's in float64. It is held to the tolerance of test/parity: no
element of a tensor's movement differs by more than 1e-5 of the largest, or than twice as much as PyTorch's own float32 does (which is much
where one of millions of activations lies at the kink of ReLU: the length of the whole difference tells more then). The answers
of the trained network, loaded by load_state_dict(strict=True), are compared with those of the ONNX file that DBench wrote. With --eval the
file is exported in EVAL mode, where only answers can be compared: batch norms are folded. With --fixed the batch size of the example stays
in the file. Opset 18 is written from 17, for this PyTorch knows 17 at most.
"""

import argparse
import copy
import json
import math
import pathlib
import shutil
import subprocess
import sys
import warnings

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision
from onnx import helper, numpy_helper

from golden import scales
from golden_export import read_safetensors
from golden_onnx import EVAL, TRAINING

warnings.filterwarnings("ignore")
ROOT = pathlib.Path(__file__).resolve().parent.parent
RATE, CLASSES, WORDS, TOKENS, BATCH = 0.1, 10, 200, 32, 4


class Language(nn.Module):
    """The word language model of PyTorch's examples, without its own initial state."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Embedding(WORDS, 650)
        self.rnn = nn.LSTM(650, 650, 2, batch_first=True)
        self.decoder = nn.Linear(650, WORDS)
        self.decoder.weight = self.encoder.weight

    def forward(self, x):
        return self.decoder(self.rnn(self.encoder(x))[0])


class Attention(nn.Module):
    """With the mask as a buffer, as nanoGPT and many others have it: it is part of the state_dict."""

    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.attn_dropout = nn.Dropout(0.1)
        self.register_buffer("bias", torch.tril(torch.ones(context, context)).view(1, 1, context, context))

    def forward(self, x):
        batch, time, width = x.size()
        parts = self.c_attn(x).split(width, dim=2)
        q, k, v = (part.view(batch, time, self.heads, width // self.heads).transpose(1, 2) for part in parts)
        scores = (q @ k.transpose(-2, -1)) * (k.size(-1) ** -0.5)
        scores = scores.masked_fill(self.bias[:, :, :time, :time] == 0, float("-inf"))
        mixed = self.attn_dropout(F.softmax(scores, dim=-1)) @ v
        return self.c_proj(mixed.transpose(1, 2).contiguous().view(batch, time, width))


class Layer(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads, context)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self, layers=6, width=384, heads=6, context=TOKENS):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(WORDS, width), nn.Embedding(context, width)
        self.h = nn.ModuleList([Layer(width, heads, context) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, WORDS, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, x):
        y = self.wte(x) + self.wpe(torch.arange(x.size(1), device=x.device))
        for layer in self.h:
            y = layer(y)
        return self.lm_head(self.ln_f(y))


NETWORKS = {
    **{name: getattr(torchvision.models, name) for name in ["resnet18", "resnet50", "vgg16", "vgg16_bn", "densenet121", "mobilenet_v2", "vit_b_16"]},
    "lstm": Language,
    "gpt": Gpt,
}


def is_text(name):
    return name in ("lstm", "gpt")


def built(name):
    """Without dropout, whose masks are each program's own."""
    torch.manual_seed(1)
    model = NETWORKS[name]() if is_text(name) else NETWORKS[name](num_classes=CLASSES)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model


def to_opset_18(path):
    """What changed for the ops of these networks: axes of reductions are an input, equal parts of a split are counted."""
    model = onnx.load(path)
    for node in model.graph.node:
        axes = next((a for a in node.attribute if a.name == "axes"), None)
        if node.op_type.startswith("Reduce") and axes is not None:
            name = f"{node.output[0]}_axes"
            model.graph.initializer.append(numpy_helper.from_array(np.array(axes.ints, dtype=np.int64), name))
            node.input.append(name)
            node.attribute.remove(axes)
        if node.op_type == "Split" and len(node.input) == 1:
            node.attribute.append(helper.make_attribute("num_outputs", len(node.output)))
    model.opset_import[0].version = 18
    onnx.save(model, path)


def export(model, x, path, opset, mode, fixed):
    model.train(mode == TRAINING)
    torch.onnx.export(
        model,
        x[:2],
        path,
        training=mode,
        do_constant_folding=mode == EVAL,
        opset_version=min(opset, 17),
        input_names=["x"],
        output_names=["logits"],
        dynamic_axes=None if fixed else {"x": {0: "batch"}},
    )
    if opset == 18:
        to_opset_18(path)


def samples(name, folder):
    """One batch to train on and others to test, as files that DBench reads; and the settings of the data."""
    if not is_text(name):
        x, y = torch.randn(BATCH + CLASSES, 3, 224, 224), torch.arange(BATCH + CLASSES) % CLASSES
        np.savez(folder / "data.npz", x_train=x[:BATCH], y_train=y[:BATCH], x_test=x[BATCH:], y_test=y[BATCH:])
        return x[:BATCH], y[:BATCH], {"kind": "numpy", "path": "data.npz", "normalize": False}
    # Words are numbered as they appear: all of them within the two files.
    tokens = torch.cat([torch.randint(WORDS, (BATCH * (TOKENS + 1),)), torch.arange(WORDS)]).tolist()
    numbers = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    train, test = tokens[: BATCH * (TOKENS + 1)], tokens[BATCH * (TOKENS + 1) :]
    for file, part in (("train.txt", train), ("test.txt", test)):
        (folder / file).write_text("".join(chr(0x4E00 + token) for token in part))
    rows = torch.tensor([numbers[token] for token in train]).view(BATCH, TOKENS + 1)
    return rows[:, :-1], rows[:, 1:], {"kind": "text", "path": "train.txt", "testPath": "test.txt"}


def dbench(folder, *arguments):
    done = subprocess.run(["node", str(ROOT / "dist/cli/main.js"), *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"dbench {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def loss_of(model, x, y):
    return F.cross_entropy(model(x).flatten(0, -2), y.flatten())


def stepped(model, x, y):
    """The tensors after one step."""
    model.train()
    loss_of(model, x, y).backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= RATE * parameter.grad
    return {key: value.double() for key, value in model.state_dict().items() if "num_batches" not in key}


def apart(found, exact, start):
    """How far movements are off: the largest difference of an element relative to the largest of its tensor, in which tensor; and the length
    of the whole difference relative to that of the whole movement. Roundings of the number itself do not count."""
    worst, off, way = (0.0, ""), 0.0, 0.0
    movements = {key: wanted - start[key] for key, wanted in exact.items()}
    largest = scales(movements)
    for key, moved in movements.items():
        if largest[key] > 0:
            free = 2**-24 * exact[key].abs().max().item()
            difference = ((found[key].double() - exact[key]).abs() - free).clamp(min=0)
            worst = max(worst, (difference.max().item() / largest[key], key))
            off, way = off + difference.square().sum().item(), way + moved.square().sum().item()
    return *worst, math.sqrt(off / way)


def answers_of(folder, x):
    """What the exported ONNX file answers, through the onnxruntime that DBench carries."""
    np.ascontiguousarray(x.numpy()).tofile(folder / "x.bin")
    subprocess.run([str(ROOT / "node_modules/.bin/tsx"), str(ROOT / "scripts/answer.ts"), str(folder)], cwd=ROOT, check=True)
    return torch.from_numpy(np.fromfile(folder / "logits.bin", np.float32))


def tried(name, folder, opset, mode, fixed):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    torch.manual_seed(2)
    x, y, data = samples(name, folder)
    model = built(name)
    export(model, x, str(folder / "model.onnx"), opset, mode, fixed)
    experiment = {
        "name": name,
        "replicas": 1,
        "data": data,
        "model": {"kind": "onnx", "path": "model.onnx"},
        "batch": BATCH,
        "epochs": 1,
        "optimizer": {"kind": "sgd"},
        # In EVAL mode there is nothing to compare a step with: as good as none is made.
        "learningRate": {"base": RATE if mode == TRAINING else 1e-12},
    }
    (folder / "own.yaml").write_text(json.dumps(experiment))
    dbench(folder, "run", "own.yaml")
    run = json.loads(dbench(folder, "runs", "--json"))[0]["id"]
    dbench(folder, "export", run, "--to", "taken", "--batch", str(BATCH))
    start = {key: value.double() for key, value in model.state_dict().items()}
    taken = read_safetensors(folder / "taken" / "model.safetensors")
    if mode == TRAINING:
        exact = stepped(copy.deepcopy(model).double(), x.double() if x.is_floating_point() else x, y)
        rough = stepped(copy.deepcopy(model), x, y)
        trained = built(name)
        trained.load_state_dict(taken, strict=True)
        ours, torchs = apart(taken, exact, start), apart(rough, exact, start)
        verdict = "equal" if ours[0] <= max(1e-5, 2 * torchs[0]) else "DIFFERENT"
        print(f"  step: {verdict}; off by {ours[0]:.1e} ({ours[1]}), in all by {ours[2]:.1e}; PyTorch's float32 by {torchs[0]:.1e}, in all by {torchs[2]:.1e}")
    else:
        trained = model
    trained = trained.double().eval()
    with torch.no_grad():
        wanted = trained(x.double() if x.is_floating_point() else x)
    fed = x.T.to(torch.int32) if is_text(name) else x
    answers = answers_of(folder / "taken", fed).double()
    wanted = wanted.transpose(0, 1) if is_text(name) else wanted
    off = (answers - wanted.flatten()).abs().max().item() / max(1.0, wanted.abs().max().item())
    print(f"  answers of the trained network: off by {off:.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--opset", type=int, default=17)
    parser.add_argument("--eval", action="store_true")
    parser.add_argument("--fixed", action="store_true")
    given = parser.parse_intermixed_args()
    mode = EVAL if given.eval else TRAINING
    for name in given.networks or NETWORKS:
        about = f"{name}-{given.opset}{'-eval' if given.eval else ''}{'-fixed' if given.fixed else ''}"
        print(about, flush=True)
        tried(name, given.folder / about, given.opset, mode, given.fixed)


if __name__ == "__main__":
    main()
