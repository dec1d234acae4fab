# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes of one or two shapes, drawn from signed distances, with the sentence that tells what is seen.

All lengths are parts of the picture's width; y grows downwards. Drawing is one tensor expression over a
batch, so that training never waits for it. Random choices come from one `random.Random`.
"""

from __future__ import annotations

import dataclasses
import math
import random
import zlib

import torch
from torch import Tensor

SHAPES = ["circle", "square", "triangle", "star", "cross", "ring"]
TEXTURES = ["", "striped", "dotted"]
SIZES = {"small": (0.125, 0.145), "large": (0.195, 0.215)}
COLOURS = {
    "red": (0.86, 0.12, 0.14),
    "orange": (1.00, 0.55, 0.05),
    "yellow": (0.98, 0.87, 0.15),
    "green": (0.13, 0.62, 0.25),
    "blue": (0.12, 0.32, 0.85),
    "purple": (0.55, 0.18, 0.68),
    "white": (0.97, 0.97, 0.97),
    "black": (0.06, 0.06, 0.06),
    "gray": (0.50, 0.50, 0.50),
}
OBJECT_COLOURS = [name for name in COLOURS if name != "gray"]
ACCENTS = {  # the second tone of a striped or dotted object
    "red": (0.52, 0.05, 0.10),
    "orange": (0.62, 0.27, 0.02),
    "yellow": (0.62, 0.50, 0.02),
    "green": (0.55, 0.87, 0.60),
    "blue": (0.50, 0.70, 1.00),
    "purple": (0.80, 0.60, 0.92),
    "white": (0.72, 0.72, 0.75),
    "black": (0.30, 0.30, 0.33),
}
PLACES = {
    "in the center": (0.5, 0.5),
    "at the top left": (0.27, 0.27),
    "at the top right": (0.73, 0.27),
    "at the bottom left": (0.27, 0.73),
    "at the bottom right": (0.73, 0.73),
}
RELATIONS = {"left of": (-1, 0), "right of": (1, 0), "above": (0, -1), "below": (0, 1)}
VOCABULARY = ["<pad>", "<unk>", "<start>"] + sorted(
    set(SHAPES)
    | set(COLOURS)
    | set(SIZES)
    | {texture for texture in TEXTURES if texture}
    | {word for phrase in [*PLACES, *RELATIONS] for word in phrase.split()}
    | {"a", "an", "and", "on", "background"}
)


@dataclasses.dataclass
class Item:
    """One object: what it is and where its centre lies."""

    shape: str
    colour: str
    size: str
    texture: str
    radius: float = 0.0
    x: float = 0.0
    y: float = 0.0


@dataclasses.dataclass
class Scene:
    """One or two items on a background; `words` tell the places ("at the top left") or the relation."""

    items: list[Item]
    background: str
    words: str
    prompt: str = ""


def is_held_out(prompt: str) -> bool:
    """One prompt in 16 is never drawn in training; which ones is a property of their letters."""
    return zlib.crc32(prompt.encode()) % 16 == 0


def describe(item: Item, with_size: bool) -> str:
    words = [item.size if with_size else "", item.texture, item.colour, item.shape]
    phrase = " ".join(word for word in words if word)
    return ("an " if phrase[0] in "aeiou" else "a ") + phrase


def make_prompt(scene: Scene, rng: random.Random, omit: float) -> str:
    """The sentence of a scene; each part that may be left out is, with the probability `omit`."""
    told = [describe(item, rng.random() >= omit) for item in scene.items]
    if len(told) == 2:
        sentence = f"{told[0]} {scene.words} {told[1]}"
    elif rng.random() >= omit:
        sentence = f"{told[0]} {scene.words}"
    else:
        sentence = told[0]
    if rng.random() >= omit:
        article = "an" if scene.background[0] in "aeiou" else "a"
        sentence += f" on {article} {scene.background} background"
    return sentence


def make_item(rng: random.Random) -> Item:
    size = rng.choice(list(SIZES))
    textured = rng.random() < (0.3 if size == "large" else 0.1)
    texture = rng.choice(TEXTURES[1:]) if textured else ""
    item = Item(rng.choice(SHAPES), rng.choice(OBJECT_COLOURS), size, texture)
    item.radius = rng.uniform(*SIZES[size])
    return item


def make_scene(rng: random.Random, held_out: bool = False, omit: float = 0.1) -> Scene:
    """A random scene whose prompt is on the wanted side of the held-out split."""
    while True:
        items = [make_item(rng) for _ in range(1 if rng.random() < 0.4 else 2)]
        taken = {item.colour for item in items}
        background = rng.choice([name for name in COLOURS if name not in taken])
        if len(items) == 1:
            words, (x, y) = rng.choice(list(PLACES.items()))
            items[0].x, items[0].y = x + rng.uniform(-0.02, 0.02), y + rng.uniform(-0.02, 0.02)
        else:
            words, (right, down) = rng.choice(list(RELATIONS.items()))
            for item, side in zip(items, (1, -1)):
                along = 0.5 + side * rng.uniform(0.23, 0.26)
                across = 0.5 + rng.uniform(-0.08, 0.08)
                item.x = (0.5 + (along - 0.5) * right) if right else across
                item.y = (0.5 + (along - 0.5) * down) if down else across
        scene = Scene(items, background, words)
        scene.prompt = make_prompt(scene, rng, omit)
        if is_held_out(scene.prompt) == held_out:
            return scene


# --- Drawing -----------------------------------------------------------------------------------------


def _polygon_distance(x: Tensor, y: Tensor, corners: list[tuple[float, float]]) -> Tensor:
    """Signed distance to a polygon: nearest edge, negative inside by the crossing rule."""
    nearest = torch.full_like(x, 1e9)
    inside = torch.zeros_like(x, dtype=torch.bool)
    for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1]):
        ex, ey = bx - ax, by - ay
        along = (((x - ax) * ex + (y - ay) * ey) / (ex * ex + ey * ey)).clamp(0, 1)
        nearest = torch.minimum(nearest, (x - ax - along * ex) ** 2 + (y - ay - along * ey) ** 2)
        if ey != 0:
            crosses = ((ay > y) != (by > y)) & (x < ax + (y - ay) * ex / ey)
            inside ^= crosses
    return nearest.sqrt() * torch.where(inside, -1.0, 1.0)


def _star_corners() -> list[tuple[float, float]]:
    turns = [math.pi * (k / 5 - 0.5) for k in range(10)]
    return [((1.15 if k % 2 == 0 else 0.48) * math.cos(a), (1.15 if k % 2 == 0 else 0.48) * math.sin(a) + 0.08)
            for k, a in enumerate(turns)]  # fmt: skip


def _cross_corners(arm: float = 0.34, reach: float = 1.0) -> list[tuple[float, float]]:
    quarter = [(arm, -reach), (arm, -arm), (reach, -arm)]
    corners = []
    for _ in range(4):
        corners += quarter
        quarter = [(-y, x) for x, y in quarter]
    return corners


_TRIANGLE = [(0.0, -1.0), (1.05, 0.82), (-1.05, 0.82)]
_SQUARE = [(-0.87, -0.87), (0.87, -0.87), (0.87, 0.87), (-0.87, 0.87)]


def distance(shape: str, x: Tensor, y: Tensor) -> Tensor:
    """Signed distance (negative inside) to a shape of radius 1 around (0, 0)."""
    if shape == "circle":
        return (x * x + y * y).sqrt() - 1
    if shape == "ring":
        return ((x * x + y * y).sqrt() - 0.78).abs() - 0.22
    corners = {"square": _SQUARE, "triangle": _TRIANGLE, "star": _star_corners(), "cross": _cross_corners()}
    return _polygon_distance(x, y, corners[shape])


def _accent_share(item: Item, x: Tensor, y: Tensor, pixel: float) -> Tensor:
    """How much of the second tone each point has, 0..1; the pattern hangs on the item's centre."""
    period = 0.11
    if item.texture == "striped":
        phase = (y / period + 0.25).remainder(1.0) - 0.5
        return ((phase.abs() - 0.25) * period / pixel + 0.5).clamp(0, 1)
    column, row = ((place / period + 0.5).remainder(1.0) - 0.5 for place in (x, y))
    return ((0.3 - (column * column + row * row).sqrt()) * period / pixel + 0.5).clamp(0, 1)


def draw(scenes: list[Scene], size: int) -> tuple[Tensor, Tensor]:
    """Pictures (batch, 3, size, size) in 0..1 and what objects cover of each pixel (batch, size, size)."""
    place = (torch.arange(size) + 0.5) / size
    y, x = torch.meshgrid(place, place, indexing="ij")
    pixel = 1.0 / size
    background = torch.tensor([COLOURS[scene.background] for scene in scenes])
    picture = background[:, :, None, None].repeat(1, 1, size, size)
    covered = torch.zeros(len(scenes), size, size)
    for shape in SHAPES:  # all items of one shape at once
        found = [(row, item) for row, scene in enumerate(scenes) for item in scene.items if item.shape == shape]
        if not found:
            continue
        rows = torch.tensor([row for row, _ in found])
        at = torch.tensor([[item.x, item.y, item.radius] for _, item in found])[:, :, None, None]
        u, v = (x - at[:, 0]) / at[:, 2], (y - at[:, 1]) / at[:, 2]
        cover = (0.5 - distance(shape, u, v) * at[:, 2] / pixel).clamp(0, 1)
        colour = torch.tensor([COLOURS[item.colour] for _, item in found])[:, :, None, None]
        colour = colour.repeat(1, 1, size, size)
        for index, (_, item) in enumerate(found):
            if item.texture:
                share = _accent_share(item, x - item.x, y - item.y, pixel)
                accent = torch.tensor(ACCENTS[item.colour])[:, None, None]
                colour[index] += share * (accent - colour[index])
        # Two items of one scene may have the same shape: add what each changes, they never overlap.
        before = background[rows][:, :, None, None]
        picture.index_add_(0, rows, cover[:, None] * (colour - before))
        covered.index_add_(0, rows, cover)
    return picture, covered.clamp(0, 1)
