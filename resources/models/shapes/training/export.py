# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the model as it ships: shapes.safetensors (float16), config.json and, on demand, parity values.

    python export.py --checkpoint DIR --out FOLDER [--parity TESTS/ORACLES]
    python export.py --random 7 --out FOLDER [--parity TESTS/ORACLES]

--random writes weights that nothing has learned, to test a reader and the arithmetic before training is
done. Parity values are computed in float32 from the float16 weights, as the shipped model computes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from model import ModelConfig, ShapesPipeline, load_pipeline, tokenize
from safetensors.torch import save_file
from scenes import VOCABULARY

PROMPT = "a large red circle left of a small blue star on a green background"


def random_pipeline(seed: int) -> ShapesPipeline:
    """Untrained weights, with no layer left at zero, so that every path counts in a comparison."""
    torch.manual_seed(seed)
    pipeline = ShapesPipeline(ModelConfig(vocabulary=VOCABULARY))
    with torch.no_grad():
        for tensor in pipeline.parameters():
            if tensor.dim() > 1 and tensor.abs().max() == 0:
                tensor.normal_(0, 0.5 / tensor.shape[-1] ** 0.5)
            elif tensor.dim() == 1:
                tensor.add_(0.1 * torch.randn_like(tensor))
    return pipeline


def trained_pipeline(checkpoint: Path) -> ShapesPipeline:
    """The averaged weights of a training folder."""
    state = torch.load(checkpoint / "release.pt" if checkpoint.is_dir() else checkpoint, weights_only=True)
    pipeline = ShapesPipeline(ModelConfig.from_dict(state["config"]))
    pipeline.load_state_dict(state["weights"])
    return pipeline


def write_model(pipeline: ShapesPipeline, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.half().contiguous() for name, tensor in pipeline.state_dict().items()}
    save_file(weights, str(folder / "shapes.safetensors"), metadata={"format": "pt"})
    (folder / "config.json").write_text(pipeline.config.to_json())


@torch.no_grad()
def write_parity(folder: Path, target: Path) -> None:
    """Fixed inputs and what the model in `folder` makes of them at 64 pixels."""
    pipeline = load_pipeline(folder)
    generator = torch.Generator().manual_seed(2026)
    noise = torch.randn(1, 4, 16, 16, generator=generator)
    ids, mask = tokenize([PROMPT, ""], pipeline.config)
    states, pooled = pipeline.te(ids, mask)
    time = torch.tensor([0.7, 0.7])
    velocity = pipeline.transformer(noise.expand(2, -1, -1, -1), time, states, pooled, mask)
    picture = pipeline.vae.decode(noise)
    steps = pipeline.times(20, 256)
    final = torch.empty(0)

    def keep(_: int, latent: torch.Tensor) -> None:
        nonlocal final
        final = latent

    pipeline.sample([PROMPT], noise, steps=4, guidance=3.0, on_step=keep)
    values = {
        "token_ids": ids.to(torch.int32),
        "token_mask": mask.to(torch.uint8),
        "text_states": states,
        "text_pooled": pooled,
        "noise": noise,
        "time": time,
        "velocity": velocity,
        "times_20_steps": steps,
        "latent_after_4_steps": final,
        "picture": picture,
        "encoded_picture": pipeline.vae.encode(picture.clamp(-1, 1)),
    }
    save_file({name: tensor.contiguous() for name, tensor in values.items()}, str(target / "shapes_parity.safetensors"))
    notes = {
        "prompts": [PROMPT, ""],
        "guidance_of_4_steps": 3.0,
        "relative_tolerance": 1e-3,
        "meaning": {
            "token_ids": "(2, text_length): the prompt and the null prompt",
            "token_mask": "(2, text_length): 1 where a word stands",
            "text_states": "(2, text_length, text_width); rows of padding are computed too, compare words only",
            "text_pooled": "(2, text_width): mean of the states over words",
            "noise": "(1, 4, 16, 16): normalised latent, input of the denoiser and of the decoder",
            "time": "(2): time of the forward",
            "velocity": "(2, 4, 16, 16): transformer(noise, time, states, pooled, mask)",
            "times_20_steps": "(21): shifted times of 20 steps at 64 pixels",
            "latent_after_4_steps": "(1, 4, 16, 16): all four Euler steps with guidance, before decoding",
            "picture": "(1, 3, 64, 64): vae.decode(noise), around -1..1, not clamped",
            "encoded_picture": "(1, 4, 16, 16): vae.encode(picture clamped to -1..1), normalised",
        },
    }
    (target / "shapes_parity.json").write_text(json.dumps(notes, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--checkpoint", type=Path, help="training folder (its release.pt) or a release file")
    source.add_argument("--random", type=int, metavar="SEED", help="write untrained weights")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parity", type=Path, help="folder for shapes_parity.safetensors and .json")
    arguments = parser.parse_args()
    if arguments.checkpoint:
        pipeline = trained_pipeline(arguments.checkpoint)
    else:
        pipeline = random_pipeline(arguments.random)
    write_model(pipeline, arguments.out)
    if arguments.parity:
        write_parity(arguments.out, arguments.parity)


if __name__ == "__main__":
    main()
