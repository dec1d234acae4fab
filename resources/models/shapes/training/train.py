# SPDX-License-Identifier: GPL-3.0-or-later
"""Trains Shapes on a processor: first the autoencoder, then text encoder and denoiser together.

    python train.py --out DIR       from nothing to DIR/release.pt; the stages follow each other by themselves
    python train.py --resume DIR    go on where DIR/checkpoint.pt stands, after an end or with more --steps

The last stage, a falling rate, starts from the checkpoint and leaves it as it is, so a training can go on
after its release. Every few minutes DIR/checkpoint.pt (weights, averaged weights, optimizer, step, random
states) and DIR/release.pt (averaged weights only, for export.py and check.py) are replaced atomically.
Everything random comes from the seed, so one machine with one number of threads gives the same losses again.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads starve each other on a shared machine

import torch
import torch.nn.functional as F
from model import ModelConfig, ShapesPipeline, shift_time, tokenize
from scenes import VOCABULARY, Scene, draw, make_scene
from torch import Tensor, nn

VAE_STEPS = 1200
DENOISER_STEPS = 1640  # at constant rate
DECAY_STEPS = 400  # with the rate falling to zero, after them
SMALL_STEPS = 700  # denoiser steps at 32 pixels, before 64
LARGE_FROM = 1340  # denoiser step from which every fourth batch has 128 pixels
NULL_SHARE = 0.1  # prompts replaced by the null prompt, for guidance
UNKNOWN_SHARE = 0.02  # words replaced by <unk>
OBJECT_WEIGHT = 3.0  # how much more a latent cell counts that an object touches
SAVE_SECONDS = 240.0


# --- Optimizer ---------------------------------------------------------------------------------------


def orthogonalize(matrices: Tensor, rounds: int = 5) -> Tensor:
    """Newton-Schulz iteration: (count, rows, columns) to nearly orthogonal matrices, in bfloat16."""
    x = matrices.bfloat16()
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.transpose(1, 2)
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(rounds):
        gram = x @ x.transpose(1, 2)
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return (x.transpose(1, 2) if tall else x).to(matrices.dtype)


class Muon(torch.optim.Optimizer):
    """Momentum whose matrix updates are orthogonalized; parameters of one shape share one iteration.

    Convolutions count as matrices of (out, in * 3 * 3), joint query-key-value layers as three matrices.
    """

    def __init__(self, parameters: list[nn.Parameter], lr: float, momentum: float = 0.95, decay: float = 0.01) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        for group in self.param_groups:
            by_shape: dict[tuple[int, int], list[tuple[nn.Parameter, Tensor]]] = {}
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["momentum"] = torch.zeros_like(parameter)
                state["momentum"].lerp_(parameter.grad, 1 - group["momentum"])
                update = parameter.grad.lerp(state["momentum"], group["momentum"]).flatten(1)
                rows, columns = update.shape
                parts = update.chunk(3) if rows == 3 * columns else (update,)
                by_shape.setdefault((rows // len(parts), columns), []).append((parameter, torch.stack(parts)))
            for (rows, columns), entries in by_shape.items():
                solved = orthogonalize(torch.cat([parts for _, parts in entries]))
                solved = solved.split([len(parts) for _, parts in entries])
                scale = max(1.0, rows / columns) ** 0.5
                for (parameter, _), parts in zip(entries, solved):
                    parameter.mul_(1 - group["lr"] * group["decay"])
                    parameter.add_(parts.flatten(0, 1).view_as(parameter), alpha=-group["lr"] * scale)


def make_optimizers(module: nn.Module, muon_lr: float, adam_lr: float) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside blocks, AdamW for embeddings, norms, biases, first and last layers."""
    matrices, others = [], []
    for name, parameter in module.named_parameters():
        inner = ("blocks." in name or ".res" in name or ".attention." in name or ".up" in name or ".down" in name)
        is_matrix = inner and parameter.dim() >= 2 and not name.endswith("offset")
        (matrices if is_matrix else others).append(parameter)
    adam = torch.optim.AdamW(others, lr=adam_lr, betas=(0.9, 0.98), weight_decay=0.0)
    return [Muon(matrices, lr=muon_lr), adam]


def set_rate(optimizers: list[torch.optim.Optimizer], factor: float) -> None:
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group.setdefault("base_lr", group["lr"]) * factor


# --- Losses ------------------------------------------------------------------------------------------


def edges(picture: Tensor) -> Tensor:
    """1 where a 3x3 neighbourhood is not flat: (batch, 1, H, W)."""
    highest = F.max_pool2d(picture, 3, 1, 1)
    lowest = -F.max_pool2d(-picture, 3, 1, 1)
    return ((highest - lowest).amax(1, keepdim=True) > 0.1).float()


def vae_batch(step: int, rng: random.Random) -> Tensor:
    """Pictures in -1..1 of several sizes, and cuts from larger ones, so that no one size is learned."""
    size, count, cut = [(64, 8, 64), (32, 24, 32), (64, 8, 64), (160, 8, 64), (64, 8, 64), (128, 2, 128)][step % 6]
    picture, _ = draw([make_scene(rng) for _ in range(count)], size)
    if cut < size:
        y, x = rng.randrange(size - cut), rng.randrange(size - cut)
        picture = picture[:, :, y : y + cut, x : x + cut]
    return picture * 2 - 1


def vae_loss(pipeline: ShapesPipeline, picture: Tensor) -> tuple[Tensor, float]:
    """Absolute and squared error, outlines weighted, through latents that carry noise; and the PSNR."""
    with torch.autocast("cpu", torch.bfloat16):
        latent = pipeline.vae.encoder(picture)
        level = 0.3 * torch.rand(len(picture), 1, 1, 1)
        back = pipeline.vae.decoder(latent + level * torch.randn_like(latent)).float()
    error = back - picture
    weight = 1 + 3 * edges(picture)
    loss = (weight * (error.abs() + error.square())).mean() + 1e-3 * latent.float().square().mean()
    mean_square = (error.detach().clamp(-2, 2) / 2).square().mean()
    return loss, -10 * mean_square.log10().item()


@torch.no_grad()
def measure_latents(pipeline: ShapesPipeline, rng: random.Random) -> None:
    """Sets the mean and deviation by which latents are normalised."""
    picture, _ = draw([make_scene(rng) for _ in range(192)], 64)
    latent = torch.cat([pipeline.vae.encoder(part) for part in (picture * 2 - 1).split(32)])
    pipeline.config.latent_mean = [round(value, 5) for value in latent.mean((0, 2, 3)).tolist()]
    pipeline.config.latent_std = [round(value, 5) for value in latent.std((0, 2, 3)).tolist()]


def denoiser_size(step: int) -> tuple[int, int]:
    """Picture size and batch of a step: 32 pixels until words bind, then 64, later with every fourth at 128."""
    if step < SMALL_STEPS:
        return 32, 96
    return (128, 6) if step >= LARGE_FROM and step % 4 == 3 else (64, 32)


def blur_words(scenes: list[Scene], rng: random.Random) -> list[str]:
    """The prompts of a batch, some of them null, some words unknown."""
    prompts = []
    for scene in scenes:
        words = ["<unk>" if rng.random() < UNKNOWN_SHARE / 4 else word for word in scene.prompt.split()]
        prompts.append("" if rng.random() < NULL_SHARE else " ".join(words))
    return prompts


def denoiser_loss(pipeline: ShapesPipeline, step: int, rng: random.Random) -> Tensor:
    size, count = denoiser_size(step)
    scenes = [make_scene(rng) for _ in range(count)]
    picture, covered = draw(scenes, size)
    ids, mask = tokenize(blur_words(scenes, rng), pipeline.config)
    with torch.autocast("cpu", torch.bfloat16):
        with torch.no_grad():
            clean = pipeline.vae.encode(picture * 2 - 1).float()
        touched = (F.max_pool2d(covered[:, None], 6, 4, 1) > 0).float()
        weight = 1 + (OBJECT_WEIGHT - 1) * touched
        tokens = clean.shape[2] * clean.shape[3]
        at = shift_time(torch.sigmoid(torch.randn(count)), tokens, pipeline.config)
        noise = torch.randn_like(clean)
        noisy = torch.lerp(clean, noise, at[:, None, None, None])
        states, pooled = pipeline.te(ids, mask)
        velocity = pipeline.transformer(noisy, at, states, pooled, mask).float()
    return (weight * (velocity - (noise - clean)).square()).mean() / weight.mean()


# --- Training ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def shared_machine(path: Path | None) -> Iterator[None]:
    """Holds a shared lock on `path` for one batch; waits while somebody measures under an exclusive one."""
    if path is None:
        yield
        return
    with open(path, "a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.5)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def replace_file(state: dict, path: Path) -> None:
    """Writes beside, then renames, so that a stop in between loses nothing."""
    beside = path.with_suffix(".new")
    torch.save(state, beside)
    os.replace(beside, path)


class Training:
    """All that a checkpoint holds, and the loop."""

    def __init__(self, folder: Path, seed: int, yield_to: Path | None) -> None:
        torch.manual_seed(seed)
        self.folder = folder
        self.yield_to = yield_to
        self.rng = random.Random(seed)
        self.pipeline = ShapesPipeline(ModelConfig(vocabulary=VOCABULARY))
        self.stage = "vae"
        self.step = 0
        self.pictures = 0
        self.seconds = 0.0
        self._begin_stage()

    def _begin_stage(self) -> None:
        is_vae = self.stage == "vae"
        self.pipeline.vae.requires_grad_(is_vae)
        p = self.pipeline
        self.trained = nn.ModuleList([p.vae]) if is_vae else nn.ModuleList([p.te, p.transformer])
        self.optimizers = make_optimizers(self.trained, *((0.01, 2e-3) if is_vae else (0.02, 1.5e-3)))
        self.average = {name: tensor.clone() for name, tensor in self.trained.state_dict().items()}

    def next_stage(self) -> None:
        """Freezes the averaged autoencoder, measures its latents, turns to the denoiser."""
        self.trained.load_state_dict(self.average)
        measure_latents(self.pipeline, self.rng)
        self.stage, self.step, self.pictures, self.seconds = "denoiser", 0, 0, 0.0
        self._begin_stage()

    def compile(self) -> None:
        for block in self.pipeline.transformer.blocks:
            block.compile(dynamic=False)

    def average_weights(self, longest: float) -> None:
        keep = min(longest, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for name, tensor in self.trained.state_dict().items():
                self.average[name].lerp_(tensor, 1 - keep)

    def factor(self) -> float:
        """Rate of this step against the full one: warm-up; the autoencoder's falls to zero at its end."""
        if self.stage == "vae":
            return min(1.0, (self.step + 1) / 100, (VAE_STEPS - self.step) / (0.6 * VAE_STEPS))
        return min(1.0, (self.step + 1) / 200)

    def one_step(self, factor: float, longest: float) -> tuple[float, float]:
        set_rate(self.optimizers, factor)
        if self.stage == "vae":
            batch = vae_batch(self.step, self.rng)
            count = len(batch)
            loss, figure = vae_loss(self.pipeline, batch)
        else:
            count = denoiser_size(self.step)[1]
            loss, figure = denoiser_loss(self.pipeline, self.step, self.rng), 0.0
        loss.backward()
        nn.utils.clip_grad_norm_(self.trained.parameters(), 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self.pictures += count
        self.average_weights(longest)
        return loss.item(), figure

    def run(self, denoiser_steps: int, minutes: float, log_every: int = 20) -> bool:
        """Trains to so many denoiser steps, for so long or until asked to end (SIGTERM), and saves.

        True when the steps are done.
        """
        began = saved = time.monotonic()
        asked_to_end: list[int] = []
        signal.signal(signal.SIGTERM, lambda number, _: asked_to_end.append(number))
        smooth, figures, seen = 0.0, 0.0, 0
        while time.monotonic() - began < 60 * minutes and not asked_to_end:
            if self.stage == "denoiser" and self.step >= denoiser_steps:
                break
            start = time.monotonic()
            with shared_machine(self.yield_to):
                loss, figure = self.one_step(self.factor(), 0.998 if self.stage == "vae" else 0.999)
            now = time.monotonic()
            self.seconds += now - start
            keep = min(0.98, seen / (seen + 1))
            seen += 1
            smooth, figures = keep * smooth + (1 - keep) * loss, keep * figures + (1 - keep) * figure
            if self.step % log_every == 0:
                extra = f" psnr {figures:.2f}" if self.stage == "vae" else ""
                print(f"{self.stage} step {self.step} pictures {self.pictures} seconds {self.seconds:.0f} "
                      f"loss {smooth:.4f}{extra}", flush=True)  # fmt: skip
            finished = self.stage == "vae" and self.step >= VAE_STEPS
            if finished:
                self.next_stage()
                print(f"latent mean {self.pipeline.config.latent_mean} std {self.pipeline.config.latent_std}", flush=True)
                seen = 0
            if finished or now - saved > SAVE_SECONDS:
                self.save()
                saved = now
        self.save()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        return self.stage == "denoiser" and self.step >= denoiser_steps

    def run_decay(self, steps: int) -> None:
        """Falling rate from here on; only release.pt is written."""
        total = self.step + steps
        while self.step < total:
            with shared_machine(self.yield_to):
                loss, _ = self.one_step((total - self.step) / steps, 0.99)
            if self.step % 20 == 0 or self.step == total:
                print(f"decay {total - self.step} left, loss {loss:.4f}", flush=True)
                replace_file(self.release(), self.folder / "release.pt")

    def release(self) -> dict:
        """Averaged weights of the stage at work, final ones of the rest."""
        kept = {name: tensor.clone() for name, tensor in self.trained.state_dict().items()}
        self.trained.load_state_dict(self.average)
        weights = {name: tensor.clone() for name, tensor in self.pipeline.state_dict().items()}
        self.trained.load_state_dict(kept)
        done = {"stage": self.stage, "step": self.step, "pictures": self.pictures, "seconds": round(self.seconds)}
        return {"config": vars(self.pipeline.config), "weights": weights, "progress": done}

    def save(self) -> None:
        release = self.release()
        state = release["progress"] | {
            "config": release["config"],
            "weights": self.pipeline.state_dict(),
            "average": self.average,
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "torch_random": torch.get_rng_state(),
            "python_random": self.rng.getstate(),
        }
        replace_file(state, self.folder / "checkpoint.pt")
        replace_file(release, self.folder / "release.pt")

    def load(self) -> None:
        state = torch.load(self.folder / "checkpoint.pt", weights_only=True)
        self.pipeline = ShapesPipeline(ModelConfig.from_dict(state["config"]))
        self.stage = state["stage"]
        self._begin_stage()
        self.pipeline.load_state_dict(state["weights"])
        self.average = state["average"]
        for optimizer, saved in zip(self.optimizers, state["optimizers"]):
            optimizer.load_state_dict(saved)
        self.step, self.pictures, self.seconds = state["step"], state["pictures"], state["seconds"]
        torch.set_rng_state(state["torch_random"])
        self.rng.setstate(state["python_random"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = parser.add_mutually_exclusive_group(required=True)
    folder.add_argument("--out", type=Path, metavar="DIR", help="new folder for the state of a training")
    folder.add_argument("--resume", type=Path, metavar="DIR", help="folder of a training to go on with")
    parser.add_argument("--steps", type=int, default=DENOISER_STEPS, metavar="N",
                        help="denoiser steps at constant rate, with those of the checkpoint (%(default)s)")  # fmt: skip
    parser.add_argument("--decay", type=int, default=DECAY_STEPS, metavar="N",
                        help="steps with a falling rate after them (%(default)s)")  # fmt: skip
    parser.add_argument("--minutes", type=float, default=1e9, help="stop and save after so long, without a release")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--eager", action="store_true", help="without torch.compile (which needs a C++ compiler)")
    parser.add_argument("--yield-to", type=Path, metavar="FILE",
                        help="shares the machine: waits while FILE is locked exclusively")  # fmt: skip
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    target = arguments.resume or arguments.out
    target.mkdir(parents=True, exist_ok=True)
    training = Training(target, arguments.seed, arguments.yield_to)
    if arguments.resume:
        training.load()
    if not arguments.eager:
        training.compile()
    if training.run(arguments.steps, arguments.minutes):
        training.run_decay(arguments.decay)


if __name__ == "__main__":
    main()
