#!/usr/bin/env python3
"""Writes test/golden/torch/import-*: models as PyTorch exports them to ONNX, and what PyTorch computes for them.

Run by hand, with Debian's python3-torch and python3-torchvision:  /usr/bin/python3 scripts/golden_onnx.py [import-name …]

The files are exported with all weights zero and compressed, for the weights of the tests come from the formula of golden.py. Those of
import-weights are real. Networks in full size are tried by hand: own_models.py.
"""

import gzip
import io
import sys
import warnings

import torch
import torch.nn as nn
from torchvision.models import VisionTransformer
from torchvision.models.densenet import DenseNet
from torchvision.models.mobilenetv2 import MobileNetV2
from torchvision.models.vgg import make_layers

import golden
from golden import FOLDER, Gpt, ResNet

warnings.filterwarnings("ignore")
TRAINING, EVAL = torch.onnx.TrainingMode.TRAINING, torch.onnx.TrainingMode.EVAL


class Vgg(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = make_layers([6, "M", 8, "M"], batch_norm=True)
        self.avgpool = nn.AdaptiveAvgPool2d((2, 2))
        self.classifier = nn.Sequential(nn.Linear(32, 20), nn.ReLU(True), nn.Dropout(0.0), nn.Linear(20, 10))

    def forward(self, x):
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


class BatchFirst(nn.Module):
    """A language model [batch, time] → [batch, time, words]."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Embedding(30, 10)
        self.rnn = nn.LSTM(10, 12, 2, batch_first=True)
        self.decoder = nn.Linear(12, 30)

    def forward(self, x):
        return self.decoder(self.rnn(self.encoder(x))[0])


def time_first(model):
    """Reads [time, batch] and gives a row for each token, as DBench feeds it."""
    inner = model.forward
    model.forward = lambda x: inner(x.T).transpose(0, 1).flatten(0, 1)
    return model


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(48, 20), nn.ReLU(), nn.Dropout(0.0), nn.Linear(20, 10), nn.SiLU(), nn.Linear(10, 10))


def densenet():
    return DenseNet(4, (2, 2), 8, 2, num_classes=10)


def mobilenet():
    return MobileNetV2(10, 0.25, [[1, 8, 1, 1], [6, 8, 2, 2]], dropout=0.0)


# shape, classes, tokens, build, how it is exported
MODELS = {
    "import-mlp": ([3, 4, 4], 10, None, mlp, {"opset_version": 13}),
    "import-resnet": ([3, 32, 32], 10, None, lambda: ResNet([1, 1, 1], [3, 3], 8, 10, True), {}),
    "import-vgg": ([3, 8, 8], 10, None, Vgg, {"opset_version": 15, "dynamic_axes": None}),
    "import-densenet": ([3, 32, 32], 10, None, densenet, {"opset_version": 14}),
    "import-mobilenet": ([3, 32, 32], 10, None, mobilenet, {}),
    "import-lstm": ([], 30, 7, BatchFirst, {}),
    "import-vit": ([3, 16, 16], 10, None, lambda: VisionTransformer(16, 4, 2, 2, 16, 24, num_classes=10), {"dynamic_axes": None}),
    "import-gpt": ([], 30, 9, lambda: Gpt(30, 2, 2, 16, 9), {"opset_version": 16}),
    "import-gpt-static": ([], 30, 9, lambda: Gpt(30, 1, 2, 16, 9), {"dynamic_axes": None}),
}


def export(model, example, target, training=TRAINING, **options):
    given = {"opset_version": 17, "do_constant_folding": False, "dynamic_axes": {"x": {0: "batch"}}, **options}
    model.train(training == TRAINING)
    torch.onnx.export(model, example, target, training=training, input_names=["x"], output_names=["logits"], **given)


def example_of(shape, classes, tokens, batch=2):
    return torch.randint(classes, (batch, tokens)) if tokens else torch.randn(batch, *shape)


def write_file(name, shape, classes, tokens, build, options, zero=True):
    model = build()
    if zero:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.zero_()
    content = io.BytesIO()
    export(model, example_of(shape, classes, tokens), content, **options)
    (FOLDER / f"{name}.onnx.gz").write_bytes(gzip.compress(content.getvalue(), 9, mtime=0))


def imported():
    """The cases of golden.py for these files."""
    cases = {}
    for name, (shape, classes, tokens, build, _) in MODELS.items():
        settings = {"kind": "onnx", "path": f"{name}.onnx.gz", "init": "fresh", **({"tokens": tokens} if tokens else {})}
        build_fed = (lambda build=build: time_first(build())) if tokens else build
        cases[name] = (settings, shape, classes, 5, ["sgd"], build_fed)
    return cases


def main():
    for name, case in MODELS.items():
        if not sys.argv[1:] or name in sys.argv[1:]:
            write_file(name, *case)
    golden.write(imported())
    torch.manual_seed(1)
    write_file("import-weights", [3, 4, 4], 10, None, mlp, {}, zero=False)


if __name__ == "__main__":
    main()
