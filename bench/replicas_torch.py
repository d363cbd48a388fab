#!/usr/bin/env python3
"""What an expert writes today for n replicas in one PyTorch process: the yardstick of bench/replicas.ts. Prints JSON.

MLP 784-128-10, batch 32, ring. The parameters of the replicas are the rows of a matrix X, those of a replica's tensors are
views of its row, and the averaging with the neighbours is X = W X. Each step draws every replica's batch from a data set in
memory. Three ways to take the local steps:

models   n modules with an optimizer each, stepped one after the other: the plain loop
rows     the same without modules and optimizers: functional autograd and fused updates on views, momentum in rows as well
batched  all replicas at once, as batched matrix products
"""
import argparse
import json
import resource
import statistics
import time

import torch
import torch.nn.functional as F

BATCH, FEATURES, HIDDEN, CLASSES = 32, 784, 128, 10
LEARNING_RATE, MOMENTUM = 0.05, 0.9
SHAPES = [(HIDDEN, FEATURES), (HIDDEN,), (CLASSES, HIDDEN), (CLASSES,)]
SIZES = [torch.Size(shape).numel() for shape in SHAPES]
SAMPLES = 20_000


def ring(n):
    W = torch.zeros(n, n)
    for i in range(n):
        for j in (i - 1, i, i + 1):
            W[i, j % n] += 1 / 3
    return W


def tensors_of(rows):
    """Views of the tensors in a row, or of those in all rows at once."""
    return [part.view(*rows.shape[:-1], *shape) for part, shape in zip(rows.split(SIZES, dim=-1), SHAPES)]


def rows_step(X, momenta, data, labels, indices):
    for row, momentum, index in zip(X, momenta, indices):
        w1, b1, w2, b2 = parameters = [view.requires_grad_() for view in tensors_of(row.detach())]
        logits = F.linear(F.relu(F.linear(data[index], w1, b1)), w2, b2)
        gradients = torch.autograd.grad(F.cross_entropy(logits, labels[index]), parameters)
        descend(parameters, momentum, gradients)


def models_of(X):
    """Modules whose parameters are the rows of X, each with its optimizer."""
    models = []
    for row in X:
        model = torch.nn.Sequential(torch.nn.Linear(FEATURES, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, CLASSES))
        for parameter, view in zip(model.parameters(), tensors_of(row)):
            parameter.data = view
        models.append((model, torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)))
    return models


def models_step(models, data, labels, indices):
    for (model, optimizer), index in zip(models, indices):
        optimizer.zero_grad()
        F.cross_entropy(model(data[index]), labels[index]).backward()
        optimizer.step()


def batched_step(X, momenta, data, labels, indices):
    w1, b1, w2, b2 = parameters = [view.requires_grad_() for view in tensors_of(X.detach())]
    hidden = F.relu(torch.baddbmm(b1[:, None], data[indices], w1.transpose(1, 2)))
    logits = torch.baddbmm(b2[:, None], hidden, w2.transpose(1, 2))
    loss = F.cross_entropy(logits.view(-1, CLASSES), labels[indices].view(-1), reduction="sum") / BATCH
    descend(parameters, momenta, torch.autograd.grad(loss, parameters))


@torch.no_grad()
def descend(parameters, momentum, gradients):
    torch._foreach_mul_(momentum, MOMENTUM)
    torch._foreach_add_(momentum, gradients)
    torch._foreach_add_(parameters, momentum, alpha=-LEARNING_RATE)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=16)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--variant", choices=["models", "rows", "batched"], default="models")
    args = parser.parse_args()
    n, steps = args.n, args.warmup + args.steps
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    data, labels = torch.rand(SAMPLES, FEATURES), torch.randint(0, CLASSES, (SAMPLES,))
    indices = torch.randint(0, SAMPLES, (steps, n, BATCH))
    X = torch.randn(1, sum(SIZES)).mul_(0.03).repeat(n, 1)
    Y, M, W = torch.empty_like(X), torch.zeros_like(X), ring(n)
    momenta = tensors_of(M) if args.variant == "batched" else [tensors_of(row) for row in M]
    local_step = batched_step if args.variant == "batched" else rows_step
    models = models_of(X) if args.variant == "models" else None
    ms = []
    for step in range(steps):
        start = time.perf_counter()
        if models is not None:
            models_step(models, data, labels, indices[step])
            torch.mm(W, X, out=Y)
            X.copy_(Y)
        else:
            local_step(X, momenta, data, labels, indices[step])
            torch.mm(W, X, out=Y)
            X, Y = Y, X
        ms.append(1000 * (time.perf_counter() - start))
    result = {
        "n": n,
        "parameters": sum(SIZES),
        "threads": args.threads,
        "variant": args.variant,
        "stepMs": statistics.median(ms[args.warmup :]),
        "peakBytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "torch": torch.__version__,
    }
    print(json.dumps(result))


main()
