#!/usr/bin/env python3
"""Writes test/golden/torch/*.json: what PyTorch computes for every model, for test/parity/ to compare with.

Run by hand, with Debian's python3-torch and python3-torchvision:  /usr/bin/python3 scripts/golden.py [name …]

Weights and batches come from a formula that both sides know (`drawn`), so the files hold results only: losses, gradients,
parameters after three optimizer steps and running statistics; of each tensor its norm, its largest element and some entries.
Everything is computed in float64, so that the files are the truth and not another rounding of it; how far PyTorch's own
float32 is from it is stored as `float32Error` (largest over tensors, as the test measures it).
"""

import json
import math
import pathlib
import sys
import zlib

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.models import VisionTransformer


def lowbias32(x):
    x = x.astype(np.uint32)
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))


SALT = 0


def words(name, shape):
    """Words of 32 bits that depend on the salt, the name and the position only."""
    count = math.prod(shape)
    return lowbias32(np.uint32(zlib.crc32(name.encode(), SALT)) + np.arange(count, dtype=np.uint32)).reshape(shape)


def symmetric(name, shape):
    return words(name, shape) / 2.0**31 - 1


def drawn(name, shape):
    """float32 values of a parameter: weights with variance 1/fan-in, norm scales around 1, the rest around 0.

    The last norm of a bottleneck is smaller: at 1 the gradients of fifty layers grow so fast on the way back that
    float32 holds four digits of them.
    """
    if len(shape) > 1:
        values = symmetric(name, shape) * math.sqrt(3 / math.prod(shape[1:]))
    elif name.endswith(".weight"):
        values = (0.1 if name.endswith("bn3.weight") else 1) * (1 + 0.2 * symmetric(name, shape))
    else:
        values = 0.1 * symmetric(name, shape)
    return torch.from_numpy(values.astype(np.float32))


TRIES = 60


class Mlp(nn.Module):
    def __init__(self, inputs, hidden, classes):
        super().__init__()
        widths = [inputs, *hidden, classes]
        self.depth = len(widths) - 1
        for i in range(self.depth):
            setattr(self, f"fc{i + 1}", nn.Linear(widths[i], widths[i + 1]))

    def forward(self, x):
        x = x.flatten(1)
        for i in range(self.depth):
            x = getattr(self, f"fc{i + 1}")(x)
            if i + 1 < self.depth:
                x = F.relu(x)
        return x


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 5, padding=2)
        self.conv2 = nn.Conv2d(16, 32, 5, padding=2)
        self.fc1 = nn.Linear(32 * 7 * 7, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class Pad(nn.Module):
    """The shortcut without parameters: every other pixel, zeros for the new channels."""

    def __init__(self, missing, stride):
        super().__init__()
        self.missing, self.stride = missing, stride

    def forward(self, x):
        before = self.missing // 2
        return F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, before, self.missing - before))


class Block(nn.Module):
    def __init__(self, norm, kernels, inputs, width, stride, shortcut):
        super().__init__()
        outputs = width * (4 if len(kernels) == 3 else 1)
        widths = [inputs, *([width] * (len(kernels) - 1)), outputs]
        self.count = len(kernels)
        at = kernels.index(3)  # where the stride sits
        for i, kernel in enumerate(kernels):
            step = stride if i == at else 1
            conv = nn.Conv2d(widths[i], widths[i + 1], kernel, step, kernel // 2, bias=False)
            setattr(self, f"conv{i + 1}", conv)
            setattr(self, f"bn{i + 1}", norm(widths[i + 1]))
        self.downsample = None
        if stride != 1 or inputs != outputs:
            projection = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), norm(outputs))
            self.downsample = projection if shortcut == "projection" else Pad(outputs - inputs, stride)

    def forward(self, x):
        y = x
        for i in range(self.count):
            y = getattr(self, f"bn{i + 1}")(getattr(self, f"conv{i + 1}")(y))
            if i + 1 < self.count:
                y = F.relu(y)
        return F.relu(y + (self.downsample(x) if self.downsample else x))


class ResNet(nn.Module):
    def __init__(self, blocks, kernels, width, classes, large, shortcut="projection", norm=nn.BatchNorm2d):
        super().__init__()
        self.large, self.stages = large, len(blocks)
        self.conv1 = nn.Conv2d(3, width, 7 if large else 3, 2 if large else 1, 3 if large else 1, bias=False)
        self.bn1 = norm(width)
        inputs, expansion = width, 4 if len(kernels) == 3 else 1
        for stage, count in enumerate(blocks):
            layers = []
            for i in range(count):
                stride = 2 if stage > 0 and i == 0 else 1
                layers.append(Block(norm, kernels, inputs, width * 2**stage, stride, shortcut))
                inputs = width * 2**stage * expansion
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        if self.large:
            x = F.max_pool2d(x, 3, 2, 1)
        for stage in range(self.stages):
            x = getattr(self, f"layer{stage + 1}")(x)
        return self.fc(x.mean((2, 3)))


class DenseLayer(nn.Module):
    def __init__(self, inputs, growth, bottleneck):
        super().__init__()
        self.bottleneck = bottleneck
        self.bn1 = nn.BatchNorm2d(inputs)
        if bottleneck:
            self.conv1 = nn.Conv2d(inputs, 4 * growth, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(4 * growth)
            self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)
        else:
            self.conv1 = nn.Conv2d(inputs, growth, 3, padding=1, bias=False)

    def forward(self, x):
        y = self.conv1(F.relu(self.bn1(x)))
        if self.bottleneck:
            y = self.conv2(F.relu(self.bn2(y)))
        return torch.cat([x, y], 1)


class DenseBlock(nn.Module):
    def __init__(self, count, inputs, growth, bottleneck):
        super().__init__()
        self.layer = nn.Sequential(*[DenseLayer(inputs + i * growth, growth, bottleneck) for i in range(count)])

    def forward(self, x):
        return self.layer(x)


class Transition(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 1, bias=False)

    def forward(self, x):
        return F.avg_pool2d(self.conv1(F.relu(self.bn1(x))), 2)


class DenseNet(nn.Module):
    def __init__(self, depth, growth, bottleneck, classes):
        super().__init__()
        count = (depth - 4) // (6 if bottleneck else 3)
        channels = 2 * growth
        self.conv1 = nn.Conv2d(3, channels, 3, padding=1, bias=False)
        for i in (1, 2, 3):
            setattr(self, f"block{i}", DenseBlock(count, channels, growth, bottleneck))
            channels += count * growth
            if i < 3:
                setattr(self, f"trans{i}", Transition(channels, channels // 2))
                channels //= 2
        self.bn1 = nn.BatchNorm2d(channels)
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        x = self.trans1(self.block1(self.conv1(x)))
        x = self.block3(self.trans2(self.block2(x)))
        return self.fc(F.relu(self.bn1(x)).mean((2, 3)))


class Lstm(nn.Module):
    def __init__(self, vocabulary, layers, hidden, embedding, tied):
        super().__init__()
        self.encoder = nn.Embedding(vocabulary, embedding)
        self.rnn = nn.LSTM(embedding, hidden, layers)
        self.decoder = nn.Linear(hidden, vocabulary)
        if tied:
            self.decoder.weight = self.encoder.weight
        self.state = None

    def forward(self, x):
        y, state = self.rnn(self.encoder(x), self.state)
        self.state = tuple(tensor.detach() for tensor in state)
        return self.decoder(y.flatten(0, 1))


class GptAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)

    def forward(self, x):
        batch, time, width = x.shape
        parts = self.c_attn(x).view(batch, time, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        query, key, value = parts[0], parts[1], parts[2]
        scores = query @ key.transpose(-2, -1) / math.sqrt(width // self.heads)
        later = torch.ones(time, time, dtype=torch.bool).triu(1)
        taken = scores.masked_fill(later, -math.inf).softmax(-1) @ value
        return self.c_proj(taken.transpose(1, 2).reshape(batch, time, width))


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = GptAttention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(width, 4 * width), "c_proj": nn.Linear(4 * width, width)})

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp["c_proj"](F.gelu(self.mlp["c_fc"](self.ln_2(x))))


class Gpt(nn.Module):
    def __init__(self, vocabulary, layers, heads, width, context):
        super().__init__()
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(vocabulary, width),
                "wpe": nn.Embedding(context, width),
                "h": nn.ModuleList([GptBlock(width, heads) for _ in range(layers)]),
                "ln_f": nn.LayerNorm(width),
            }
        )
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.transformer["wte"].weight

    def forward(self, x):
        """[batch, time] → [batch, time, vocabulary]; the head shares the table."""
        parts = self.transformer
        y = parts["wte"](x) + parts["wpe"].weight[: x.shape[1]]
        for block in parts["h"]:
            y = block(y)
        return self.lm_head(parts["ln_f"](y))


class TimeFirst(Gpt):
    """Reads [time, batch] and gives a row for each token, as DBench feeds it."""

    def forward(self, x):
        return super().forward(x.T).transpose(0, 1).flatten(0, 1)


SGD = {"kind": "sgd", "momentum": 0.9, "weightDecay": 0.01}
OPTIMIZERS = {
    "sgd": (SGD, 0.005),
    "nesterov": ({**SGD, "nesterov": True}, 0.005),
    "clip": ({"kind": "sgd", "momentum": 0.5, "clipNorm": 0.4}, 0.1),
    "adam": ({"kind": "adam", "weightDecay": 0.01, "epsilon": 0.01}, 0.002),
    "adamw": ({"kind": "adamw", "weightDecay": 0.1, "epsilon": 0.01}, 0.002),
}
EVERY = list(OPTIMIZERS)

RESNET20 = ([3, 3, 3], [3, 3], 16, 10, False)
CASES = {
    "mlp": ({"kind": "mlp"}, [1, 28, 28], 10, 16, EVERY, lambda: Mlp(784, [128], 10)),
    "cnn": ({"kind": "cnn"}, [1, 28, 28], 10, 8, EVERY, Cnn),
    "resnet20": ({"kind": "resnet20"}, [3, 16, 16], 10, 4, ["sgd", "adamw"], lambda: ResNet(*RESNET20)),
    "resnet20-pad-group": (
        {"kind": "resnet20", "shortcut": "pad", "norm": "group"},
        [3, 16, 16],
        10,
        4,
        ["nesterov"],
        lambda: ResNet(*RESNET20, "pad", lambda channels: nn.GroupNorm(2, channels)),
    ),
    "resnet18-narrow": (
        {"kind": "resnet18", "width": 8},
        [3, 64, 64],
        20,
        4,
        ["sgd"],
        lambda: ResNet([2, 2, 2, 2], [3, 3], 8, 20, True),
    ),
    "resnet50-narrow": (
        {"kind": "resnet50", "width": 8},
        [3, 64, 64],
        20,
        4,
        ["nesterov"],
        lambda: ResNet([3, 4, 6, 3], [1, 3, 1], 8, 20, True),
    ),
    "densenet22": (
        {"kind": "densenet100", "depth": 22, "growth": 6},
        [3, 16, 16],
        10,
        8,
        ["sgd"],
        lambda: DenseNet(22, 6, False, 10),
    ),
    "densenet22-bc": (
        {"kind": "densenet100", "depth": 22, "growth": 6, "bottleneck": True},
        [3, 16, 16],
        10,
        8,
        ["clip"],
        lambda: DenseNet(22, 6, True, 10),
    ),
    "lstm": (
        {"kind": "lstm", "layers": 2, "hidden": 24, "bptt": 7, "dropout": 0},
        [],
        50,
        3,
        EVERY,
        lambda: Lstm(50, 2, 24, 24, True),
    ),
    "lstm-untied": (
        {"kind": "lstm", "layers": 1, "hidden": 16, "embedding": 10, "tied": False, "bptt": 5, "dropout": 0},
        [],
        40,
        4,
        ["sgd"],
        lambda: Lstm(40, 1, 16, 10, False),
    ),
    "gpt": (
        {"kind": "gpt", "layers": 2, "heads": 2, "width": 24, "context": 10, "dropout": 0},
        [],
        30,
        3,
        EVERY,
        lambda: TimeFirst(30, 2, 2, 24, 10),
    ),
    "vit": (
        {"kind": "vit", "patch": 4, "layers": 2, "heads": 2, "width": 16, "hidden": 24},
        [3, 16, 16],
        10,
        4,
        ["sgd", "adamw"],
        lambda: VisionTransformer(16, 4, 2, 2, 16, 24, num_classes=10),
    ),
}


def batch_of(settings, shape, classes, batch, dtype):
    time = settings.get("bptt") or settings.get("context") or settings.get("tokens")
    if time:
        size = [time, batch]
        x = torch.from_numpy((words("x", size) % classes).astype(np.int64))
    else:
        size = [batch]
        x = torch.from_numpy((symmetric("x", [batch, *shape]) * math.sqrt(3)).astype(np.float32)).to(dtype)
    labels = torch.from_numpy((words("labels", size) % classes).astype(np.int64)).flatten()
    return x, labels


def fresh(build, dtype):
    model = build().to(dtype).train()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(drawn(name, list(parameter.shape)))
    return model


def optimizer_of(model, settings, rate):
    decay = settings.get("weightDecay", 0)
    groups = [
        {"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": decay},
        {"params": [p for p in model.parameters() if p.dim() <= 1], "weight_decay": 0},
    ]
    if settings["kind"] == "sgd":
        return torch.optim.SGD(groups, rate, settings["momentum"], nesterov=settings.get("nesterov", False))
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[settings["kind"]]
    return kind(groups, rate, eps=settings["epsilon"])


def state_of(model):
    """What the step carries on: running statistics, or the hidden state."""
    if isinstance(model, Lstm):
        return {
            f"rnn.{name}_l{layer}": tensor[layer]
            for layer in range(model.rnn.num_layers)
            for name, tensor in zip("hc", model.state)
        }
    return {name: tensor for name, tensor in model.named_buffers() if "running" in name}


def results(case, dtype, noise=0):
    settings, shape, classes, batch, optimizers, build = case
    x, labels = batch_of(settings, shape, classes, batch, dtype)
    if noise and x.is_floating_point():  # in the last bit
        x = x * (1 + 2**-23 * torch.randint(-1, 2, x.shape, generator=torch.Generator().manual_seed(noise)))
    model = fresh(build, dtype)
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    loss = F.cross_entropy(model(x), labels)
    loss.backward()
    found = {
        "start": start,
        "loss": loss.item(),
        "gradient": {name: p.grad for name, p in model.named_parameters()},
        "state": dict(state_of(model)),
        "steps": {},
    }
    for name in optimizers:
        spec, rate = OPTIMIZERS[name]
        model = fresh(build, dtype)
        optimizer = optimizer_of(model, spec, rate)
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), labels)
            loss.backward()
            if "clipNorm" in spec:
                nn.utils.clip_grad_norm_(model.parameters(), spec["clipNorm"])
            optimizer.step()
            losses.append(loss.item())
        moved = {name: p.detach() - start[name] for name, p in model.named_parameters()}
        state = dict(state_of(model))
        model.eval()
        model.state = None  # an evaluation starts at the beginning of its text
        with torch.no_grad():
            evaluated = F.cross_entropy(model(x), labels).item()
        found["steps"][name] = {"losses": losses, "moved": moved, "state": state, "evalLoss": evaluated}
    return found


def number(value):
    return float(f"{value:.9g}")


def scales(tensors):
    """What differences in each tensor are held against: its largest element.

    Of all tensors if it is zero but for rounding, as the gradient by a bias before a batch norm; and a fiftieth of it for the
    first norm of a DenseNet, whose gradient all but cancels, for other norms follow.
    """
    largest = {name: tensor.abs().max().item() for name, tensor in tensors.items()}
    most = max(largest.values(), default=0.0)
    least = {name: most / 50 if name.startswith("features.norm0.") else 0.0 for name in tensors}
    return {name: max(own, least[name]) if own > 1e-9 * most else most for name, own in largest.items()}


def summary(tensors, entries):
    """Norm, scale and entries at equal distances of every tensor."""
    rows = {}
    largest = scales(tensors)
    for name, tensor in tensors.items():
        flat = tensor.detach().double().flatten()
        count = min(entries, flat.numel())
        at = torch.arange(count) * flat.numel() // count
        rows[name] = {
            "norm": number(flat.norm().item()),
            "largest": number(largest[name]),
            "entries": [number(value) for value in flat[at].tolist()],
        }
    return rows


def difference(given, wanted, start=None):
    """The largest difference of any element, relative to the largest element of its tensor, over all tensors.

    With `start`, the tensors are the way that parameters have moved from there: the rounding of a parameter to float32
    in each of three steps, which may be much of a short way, does not count.
    """
    apart = [0.0]
    largest = scales(wanted)
    for name, tensor in wanted.items():
        free = 3 * 2**-24 * start[name].abs().max().item() if start else 0.0
        most = (given[name].double() - tensor).abs().max().item()
        apart.append(max(0.0, most - free) / largest[name])
    return max(apart)


def errors_of(exact, rough):
    apart = [difference(rough["gradient"], exact["gradient"])]
    for name, step in exact["steps"].items():
        apart.append(difference(rough["steps"][name]["moved"], step["moved"], exact["start"]))
    return apart


def steady(case):
    """The draw of weights and data for which float32 errs least: its results in float64 and in float32.

    Among a million activations some lie so close to the kink of ReLU, or so close to another under a max pool, that
    rounding decides, and then a whole part of the gradient differs. That says nothing about who computes it, so draws
    are passed over in which it happens to PyTorch itself, in four ways to round.
    """
    global SALT
    best = None
    for SALT in range(TRIES):
        exact, rough = results(case, torch.float64), results(case, torch.float32)
        apart = max(errors_of(exact, rough))
        if apart < 5e-6:
            with torch.backends.mkldnn.flags(enabled=False):
                others = [results(case, torch.float32), *(results(case, torch.float32, seed) for seed in (1, 2, 3))]
            apart = max(apart, *(max(errors_of(exact, other)) for other in others))
        if best is None or apart < best[0]:
            best = (apart, SALT, exact, rough)
        if apart < 5e-6:
            break
    SALT = best[1]
    return best[2], best[3]


FOLDER = pathlib.Path(__file__).parent.parent / "test" / "golden" / "torch"


def write(cases):
    torch.set_num_threads(1)
    for name, case in cases.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        settings, shape, classes, batch, optimizers, _ = case
        exact, rough = steady(case)
        golden = {
            "torch": torch.__version__,
            "salt": SALT,
            "model": settings,
            "task": {"shape": shape, "classes": classes},
            "batch": batch,
            "loss": number(exact["loss"]),
            "gradient": summary(exact["gradient"], 100),
            "state": summary(exact["state"], 20),
            "float32Error": {
                "gradient": number(difference(rough["gradient"], exact["gradient"])),
                "state": number(difference(rough["state"], exact["state"])),
            },
            "steps": [
                {
                    "name": optimizer,
                    "optimizer": OPTIMIZERS[optimizer][0],
                    "learningRate": OPTIMIZERS[optimizer][1],
                    "losses": [number(loss) for loss in step["losses"]],
                    "evalLoss": number(step["evalLoss"]),
                    "moved": summary(step["moved"], 40),
                    "state": summary(step["state"], 20),
                    "float32Error": {
                        "moved": number(difference(rough["steps"][optimizer]["moved"], step["moved"], exact["start"])),
                        "state": number(difference(rough["steps"][optimizer]["state"], step["state"])),
                    },
                }
                for optimizer, step in exact["steps"].items()
            ],
        }
        path = FOLDER / f"{name}.json"
        path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")
        errors = " ".join(f"{apart:.1e}" for apart in errors_of(exact, rough))
        print(f"{name}: salt {SALT}, loss {golden['loss']:.6f}, {path.stat().st_size} bytes, float32 errors {errors}", flush=True)


if __name__ == "__main__":
    write(CASES)
