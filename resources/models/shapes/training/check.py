# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures how often a picture shows what its prompt says, looking at the picture only.

    python check.py --model FOLDER [--count 200] [--size 64] [--report FILE.md] [--sheet FILE.png]
    python check.py --checkpoint DIR ...     the averaged weights of a training under way
    python check.py --drawn ...              the checker itself, on scenes drawn by scenes.py
    python check.py --rebuilt --model ...    the autoencoder alone, on the same scenes

Objects are what differs from the colour of the border. Each connected region gets the palette colour most
of its inner pixels are nearest to; its shape is the one whose outline, fitted by area and centroid, shares
most with the region. A prompt is all right when the number of objects, and the shape, colour and place
(or relation) of every one, are right. Size, texture and background are counted apart.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import random
from collections import Counter
from pathlib import Path

import torch
import torch.nn.functional as F
from model import ShapesPipeline, load_pipeline
from scenes import ACCENTS, COLOURS, OBJECT_COLOURS, PLACES, RELATIONS, SHAPES, Scene, distance, draw, make_scene
from torch import Tensor

LEAST_AREA = 0.008  # of the picture; smaller regions are specks
LEAST_OVERLAP = 0.65  # of the best outline; below, a region has no shape
NOTHING = "none"


@dataclasses.dataclass
class Found:
    """One object seen in a picture."""

    shape: str
    colour: str
    texture: str
    radius: float
    x: float
    y: float


def _unit_outline(shape: str, cells: int = 200) -> tuple[float, float]:
    """Area and height of the centroid of a shape of radius 1."""
    place = (torch.arange(cells) + 0.5) / cells * 3 - 1.5
    y, x = torch.meshgrid(place, place, indexing="ij")
    inside = distance(shape, x, y) < 0
    return inside.sum().item() * (3 / cells) ** 2, y[inside].mean().item()


OUTLINES = {shape: _unit_outline(shape) for shape in SHAPES}


def regions(mask: Tensor) -> list[Tensor]:
    """Connected parts (8 neighbours) of a (size, size) mask that are not specks."""
    size = mask.shape[0]
    inside = mask.float()
    label = inside * (torch.arange(mask.numel()).view(size, size) + 1)
    while True:
        spread = F.max_pool2d(label[None], 3, 1, 1)[0] * inside
        if torch.equal(spread, label):
            break
        label = spread
    return [label == value for value in label.unique() if value > 0 and (label == value).sum() >= LEAST_AREA * size**2]


def fit_shape(mask: Tensor) -> tuple[str, float, float, float]:
    """Best shape of a region with its radius and centre; NOTHING when none fits well."""
    size = mask.shape[0]
    place = (torch.arange(size) + 0.5) / size
    y, x = torch.meshgrid(place, place, indexing="ij")
    area, cx, cy = mask.sum().item() / size**2, x[mask].mean().item(), y[mask].mean().item()
    best, answer = LEAST_OVERLAP, (NOTHING, (area / 3) ** 0.5, cx, cy)
    for shape, (unit_area, unit_y) in OUTLINES.items():
        for stretch in (0.92, 1.0, 1.08):
            radius = stretch * (area / unit_area) ** 0.5
            top = cy - unit_y * radius
            inside = distance(shape, (x - cx) / radius, (y - top) / radius) < 0
            overlap = (inside & mask).sum().item() / (inside | mask).sum().item()
            if overlap > best:
                best, answer = overlap, (shape, radius, cx, top)
    return answer


def nearest_background(picture: Tensor) -> str:
    border = torch.cat([picture[:, 0], picture[:, -1], picture[:, :, 0], picture[:, :, -1]], dim=1)
    middle = border.median(dim=1).values
    return min(COLOURS, key=lambda name: (middle - torch.tensor(COLOURS[name])).square().sum().item())


def tone_distances(picture: Tensor, colour: str) -> Tensor:
    """(2, size, size): distance of every pixel to a colour and to its accent."""
    tones = torch.tensor([COLOURS[colour], ACCENTS[colour]])
    return (picture[None] - tones[:, :, None, None]).square().sum(1).sqrt()


def look(picture: Tensor) -> tuple[list[Found], str]:
    """The objects and the background colour of a (3, size, size) picture in 0..1."""
    background = nearest_background(picture)
    ground = torch.tensor(COLOURS[background])[:, None, None]
    away = (picture - ground).square().sum(0).sqrt()
    names = [name for name in OBJECT_COLOURS if name != background]
    tones = torch.stack([tone_distances(picture, name) for name in names])  # (colours, 2, size, size)
    nearest = tones.amin(1).argmin(0)
    plain = tones[:, 0] <= tones[:, 1]
    found = []
    for region in regions(away > 0.17):
        inner = -F.max_pool2d(-region[None].float(), 3, 1, 1)[0] > 0
        voters = inner if inner.sum() >= 8 else region
        votes = nearest[voters].bincount(minlength=len(names))
        chosen = [int(i) for i in votes.argsort(descending=True)[:2] if votes[i] >= 0.25 * votes.sum()]
        for index in chosen:
            colour = names[index]
            # Two colours in one region: two objects that touch, or one whose paint has run.
            part = region if len(chosen) == 1 else region & (tones[index].amin(0) <= tones[chosen].amin(1).amin(0))
            half = 0.5 * min(((torch.tensor(t) - ground[:, 0, 0]).norm() for t in (COLOURS[colour], ACCENTS[colour])))
            part = part & (away > half)
            if part.sum() < LEAST_AREA * part.numel():
                continue
            shape, radius, x, y = fit_shape(part)
            found.append(Found(shape, colour, see_texture(part & voters, ~plain[index]), radius, x, y))
    return found, background


def see_texture(mask: Tensor, accent: Tensor) -> str:
    """Striped when rows tell the second tone, dotted when it is there but rows do not, else plain ("")."""
    share = accent[mask].float().mean().item() if mask.any() else 0.0
    if not 0.12 < share < 0.88:
        return ""
    count = mask.sum(1).clamp(min=1)
    rows = (accent & mask).sum(1) / count
    within = (rows * (1 - rows) * mask.sum(1)).sum().item() / mask.sum().item()
    return "striped" if within < 0.6 * share * (1 - share) else "dotted"


def place_is_right(scene: Scene, seen: list[Found]) -> bool:
    if len(seen) == 1:
        x, y = PLACES[scene.words]
        return abs(seen[0].x - x) < 0.12 and abs(seen[0].y - y) < 0.12
    right, down = RELATIONS[scene.words]
    dx, dy = seen[0].x - seen[1].x, seen[0].y - seen[1].y
    along, across = (dx * right, dy) if right else (dy * down, dx)
    return along > 0.15 and along > abs(across)


def match(scene: Scene, found: list[Found]) -> list[Found]:
    """The objects seen, in the order of the prompt's, so that most of colour and shape (then size, then place) agrees."""
    blank = Found(NOTHING, NOTHING, "", 0.0, 0.5, 0.5)
    pool = found + [blank] * max(0, len(scene.items) - len(found))

    def agreement(order: tuple[Found, ...]) -> tuple[int, int, bool]:
        pairs = list(zip(scene.items, order))
        paint = sum(2 * (a.colour == b.colour) + (a.shape == b.shape) for a, b in pairs)
        sizes = sum((a.size == "small") == (b.radius < 0.17) for a, b in pairs)
        return paint, sizes, place_is_right(scene, list(order))

    return list(max(itertools.permutations(pool, len(scene.items)), key=agreement))


class Score:
    """Counts over many pictures."""

    def __init__(self) -> None:
        self.right: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.shapes: Counter[tuple[str, str]] = Counter()
        self.colours: Counter[tuple[str, str]] = Counter()
        self.wrong: list[str] = []

    def _count(self, name: str, ok: bool) -> bool:
        self.asked[name] += 1
        self.right[name] += ok
        return ok

    def add(self, scene: Scene, picture: Tensor) -> bool:
        found, background = look(picture)
        seen = match(scene, found)
        ok = self._count("number of objects", len(found) == len(scene.items))
        for item, object_ in zip(scene.items, seen):
            self.shapes[item.shape, object_.shape] += 1
            self.colours[item.colour, object_.colour] += 1
            ok &= self._count("shape", item.shape == object_.shape)
            ok &= self._count("colour", item.colour == object_.colour)
            self._count("size", (item.size == "small") == (object_.radius < 0.17))
            self._count("texture", item.texture == object_.texture)
            if item.texture:
                self._count("texture, where one is asked", item.texture == object_.texture)
        ok &= self._count("place or relation", place_is_right(scene, seen))
        self._count("background", background == scene.background)
        self._count("one object: all right" if len(scene.items) == 1 else "two objects: all right", ok)
        self._count("all right", ok)
        if not ok:
            self.wrong.append(scene.prompt)
        return ok

    def share(self, name: str) -> float:
        return self.right[name] / max(1, self.asked[name])

    def markdown(self) -> str:
        lines = ["| measure | right | of |", "| --- | --- | --- |"]
        lines += [f"| {name} | {100 * self.share(name):.1f} % | {self.asked[name]} |" for name in sorted(self.asked)]
        for title, table, names in (("shape", self.shapes, SHAPES), ("colour", self.colours, OBJECT_COLOURS)):
            columns = [*names, NOTHING]
            lines += ["", f"| {title} asked \\ seen | " + " | ".join(columns) + " |", "| --- " * (len(columns) + 1) + "|"]
            lines += [f"| {asked} | " + " | ".join(str(table[asked, seen]) for seen in columns) + " |" for asked in names]
        return "\n".join(lines) + "\n"


def sheet(pictures: Tensor, columns: int, path: Path) -> None:
    from PIL import Image

    _, _, height, width = pictures.shape
    grid = F.pad(pictures, (2, 2, 2, 2), value=1.0).unflatten(0, (-1, columns)).permute(0, 3, 1, 4, 2).flatten(0, 1)
    grid = grid.reshape(-1, columns * (width + 4), 3)
    Image.fromarray((grid * 255).round().byte().numpy()).save(path, optimize=True)


def make_pictures(arguments: argparse.Namespace, scenes: list[Scene], pipeline: ShapesPipeline | None) -> Tensor:
    drawn, _ = draw(scenes, arguments.size)
    if pipeline is None:
        return drawn
    parts = []
    side = arguments.size // 4
    generator = torch.Generator().manual_seed(arguments.seed)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=arguments.bfloat16):
        for start in range(0, len(scenes), 10):
            chunk = scenes[start : start + 10]
            if arguments.rebuilt:
                back = pipeline.vae.decode(pipeline.vae.encode(drawn[start : start + 10] * 2 - 1))
                parts.append((back.float() / 2 + 0.5).clamp(0, 1))
                continue
            noise = torch.randn(len(chunk), 4, side, side, generator=generator)
            prompts = [scene.prompt for scene in chunk]
            parts.append(pipeline.sample(prompts, noise, arguments.steps, arguments.guidance).float())
    return torch.cat(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="config.json and shapes.safetensors")
    parser.add_argument("--checkpoint", type=Path, metavar="DIR", help="release.pt of a training")
    parser.add_argument("--drawn", action="store_true")
    parser.add_argument("--rebuilt", action="store_true")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--guidance", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bfloat16", action="store_true", help="faster and slightly different")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--sheet", type=Path, help="a PNG of the first 24 pictures")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    pipeline = None
    if arguments.model:
        pipeline = load_pipeline(arguments.model)
    elif arguments.checkpoint:
        from export import trained_pipeline

        pipeline = trained_pipeline(arguments.checkpoint)
    rng = random.Random(arguments.seed)
    scenes = [make_scene(rng, held_out=True, omit=0.0) for _ in range(arguments.count)]
    pictures = make_pictures(arguments, scenes, None if arguments.drawn else pipeline)
    score = Score()
    for scene, picture in zip(scenes, pictures):
        score.add(scene, picture)
    report = score.markdown()
    print(report)
    for prompt in score.wrong[:20]:
        print("not all right:", prompt)
    if arguments.report:
        arguments.report.write_text(report)
    if arguments.sheet:
        sheet(pictures[:24], 8, arguments.sheet)
        listing = [scene.prompt for scene in scenes[:24]]
        arguments.sheet.with_suffix(".json").write_text(json.dumps(listing, indent=1) + "\n")


if __name__ == "__main__":
    main()
