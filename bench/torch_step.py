#!/usr/bin/env python3
"""PyTorch's side of bench/compare.ts: prepares the named step, then answers each line `seconds` with times in ms as JSON."""

import json
import pathlib
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "scripts"))
from golden import Cnn, DenseNet, Lstm, Mlp, ResNet, TimeFirst  # noqa: E402


class WordModel(Lstm):
    """As in PyTorch's word language model, with dropout."""

    def __init__(self, vocabulary, layers, hidden, dropout):
        super().__init__(vocabulary, layers, hidden, hidden, True)
        self.rnn = nn.LSTM(hidden, hidden, layers, dropout=dropout)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        y, state = self.rnn(self.drop(self.encoder(x)), self.state)
        self.state = tuple(tensor.detach() for tensor in state)
        return self.decoder(self.drop(y).flatten(0, 1))


def images(model, batch):
    return model, torch.randn(batch, 3, 32, 32), torch.randint(10, (batch,))


def gpt():
    """Starts as ours does."""
    model = TimeFirst(65, 4, 4, 128, 64)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.02)
    return model


CASES = {
    "mlp": lambda: (Mlp(784, [128], 10), torch.randn(32, 1, 28, 28), torch.randint(10, (32,))),
    "cnn": lambda: (Cnn(), torch.randn(32, 1, 28, 28), torch.randint(10, (32,))),
    "lstm": lambda: (WordModel(2000, 2, 256, 0.4), torch.randint(2000, (30, 20)), torch.randint(2000, (600,))),
    "gpt": lambda: (gpt(), torch.randint(65, (64, 12)), torch.randint(65, (768,))),
    "resnet20": lambda: images(ResNet([3, 3, 3], [3, 3], 16, 10, False), 32),
    "resnet20-128": lambda: images(ResNet([3, 3, 3], [3, 3], 16, 10, False), 128),
    "densenet100": lambda: images(DenseNet(100, 12, True, 10), 32),
}


def main():
    torch.set_num_threads(1)
    model, x, labels = CASES[sys.argv[1]]()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9, weight_decay=1e-4)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()

    for _ in range(5):
        step()
    openblas = "openblas" in pathlib.Path("/proc/self/maps").read_text()
    print(json.dumps({"version": torch.__version__, "openblas": openblas}), flush=True)
    for line in sys.stdin:
        times, end = [], time.perf_counter() + float(line)
        while time.perf_counter() < end or len(times) < 3:
            start = time.perf_counter()
            step()
            times.append(1000 * (time.perf_counter() - start))
        print(json.dumps(times), flush=True)


if __name__ == "__main__":
    main()
