# SPDX-License-Identifier: GPL-3.0-or-later
"""Shapes: a small text-to-image model whose every part has the form of the large ones.

Three networks, saved under the prefixes ``te.``, ``transformer.`` and ``vae.``:

* TextEncoder: word ids and a padding mask to text states and their masked mean.
* ShapesTransformer2DModel: noisy latent, text and time to a velocity (rectified flow).
* Autoencoder: pictures in [-1, 1] to latents of a quarter of their size, and back.

Shapes of tensors are written (batch, ...). Every attention takes (batch, heads, tokens, head_dim).
"""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclasses.dataclass
class ModelConfig:
    """Everything besides the weights that is needed to run the model; written as config.json."""

    vocabulary: list[str] = dataclasses.field(default_factory=list)
    pad_id: int = 0
    unknown_id: int = 1
    start_id: int = 2
    text_length: int = 20
    text_width: int = 128
    text_heads: int = 2
    text_blocks: int = 2
    width: int = 192
    heads: int = 3
    blocks: int = 4
    time_features: int = 128
    position_frequencies: int = 4
    rope_extent: float = 16.0
    rope_theta: float = 100.0
    latent_channels: int = 4
    latent_factor: int = 4
    vae_widths: list[int] = dataclasses.field(default_factory=lambda: [32, 64, 128])
    vae_groups: int = 8
    latent_mean: list[float] = dataclasses.field(default_factory=lambda: [0.0] * 4)
    latent_std: list[float] = dataclasses.field(default_factory=lambda: [1.0] * 4)
    shift_base: float = 2.0
    shift_tokens: int = 256
    default_steps: int = 20
    default_guidance: float = 3.0

    def to_json(self) -> str:
        head = {
            "pipeline_class": "ShapesPipeline",
            "transformer_class": "ShapesTransformer2DModel",
            "text_encoder_class": "ShapesTextEncoder",
            "vae_class": "ShapesAutoencoder",
        }
        return json.dumps(head | dataclasses.asdict(self), indent=1) + "\n"

    @staticmethod
    def from_dict(values: dict) -> "ModelConfig":
        known = {field.name for field in dataclasses.fields(ModelConfig)}
        return ModelConfig(**{key: value for key, value in values.items() if key in known})


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """Scaled dot-product attention; `mask` is bool, true where a key may be seen."""
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(batch, tokens, heads * head_dim) to (batch, heads, tokens, head_dim)."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """(batch, heads, tokens, head_dim) to (batch, tokens, heads * head_dim)."""
    return x.transpose(1, 2).flatten(2)


# --- Words -------------------------------------------------------------------------------------------


def tokenize(prompts: list[str], config: ModelConfig) -> tuple[Tensor, Tensor]:
    """Ids (batch, text_length) and a mask of the same shape, true where a word stands.

    Lower case, split at white space; commas and full stops are dropped. The start token comes first, so
    that the null prompt "" still has one key to attend to. Words beyond the length are cut off.
    """
    index = {word: position for position, word in enumerate(config.vocabulary)}
    ids = torch.full((len(prompts), config.text_length), config.pad_id, dtype=torch.long)
    for row, prompt in enumerate(prompts):
        words = prompt.lower().replace(",", " ").replace(".", " ").split()
        tokens = [config.start_id] + [index.get(word, config.unknown_id) for word in words]
        tokens = tokens[: config.text_length]
        ids[row, : len(tokens)] = torch.tensor(tokens)
    return ids, ids != config.pad_id


class TextBlock(nn.Module):
    """Pre-norm encoder block: attention, then an MLP of four times the width."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        query, key, value = (split_heads(part, self.heads) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        x = x + self.out(merge_heads(attention(query, key, value, mask)))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x)), approximate="tanh"))


class TextEncoder(nn.Module):
    """Ids and mask (batch, L) to states (batch, L, text_width) and their mean over words (batch, text_width)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.text_width
        self.token = nn.Embedding(len(config.vocabulary), width)
        self.position = nn.Embedding(config.text_length, width)
        self.blocks = nn.ModuleList(TextBlock(width, config.text_heads) for _ in range(config.text_blocks))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        x = self.token(ids) + self.position.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x, mask[:, None, None, :])
        states = self.norm(x)
        weights = mask.to(states.dtype).unsqueeze(-1)
        return states, (states * weights).sum(1) / weights.sum(1)


# --- Denoiser ----------------------------------------------------------------------------------------


def rotary_tables(text: int, height: int, width: int, head_dim: int, config: ModelConfig) -> tuple[Tensor, Tensor]:
    """Cosine and sine (text + height * width, head_dim / 2) for the joint sequence, text first.

    Each token has a place (y, x). Image tokens lie at cell centres, scaled so that the longer side always
    spans `rope_extent`; text token k lies at (-k - 1, -k - 1). The first half of the angles turns with y,
    the second with x. Angle j of either half has the frequency theta^(-j / count).
    """
    count = head_dim // 4
    scale = config.rope_extent / max(height, width)
    diagonal = -torch.arange(1, text + 1, dtype=torch.float32)
    ys = (torch.arange(height, dtype=torch.float32) + 0.5) * scale
    xs = (torch.arange(width, dtype=torch.float32) + 0.5) * scale
    y = torch.cat([diagonal, ys.repeat_interleave(width)])
    x = torch.cat([diagonal, xs.repeat(height)])
    frequency = config.rope_theta ** (-torch.arange(count, dtype=torch.float32) / count)
    angles = torch.cat([y[:, None] * frequency, x[:, None] * frequency], dim=1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Turns (batch, heads, tokens, head_dim): element j pairs with element j + head_dim / 2."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)


def position_features(height: int, width: int, frequencies: int) -> Tensor:
    """(height * width, 4 * frequencies): sin y, cos y, sin x, cos x of pi * 2^k * place, place in 0..1.

    The longer side spans 0..1. The network learns from these where the borders are, which rotary
    positions (only relative) do not tell.
    """
    longest = max(height, width)
    octave = math.pi * 2.0 ** torch.arange(frequencies, dtype=torch.float32)
    y = ((torch.arange(height, dtype=torch.float32) + 0.5) / longest)[:, None] * octave
    x = ((torch.arange(width, dtype=torch.float32) + 0.5) / longest)[:, None] * octave
    rows = torch.cat([y.sin(), y.cos()], dim=1).repeat_interleave(width, dim=0)
    columns = torch.cat([x.sin(), x.cos()], dim=1).repeat(height, 1)
    return torch.cat([rows, columns], dim=1)


def time_features(time: Tensor, count: int) -> Tensor:
    """(batch,) times in 0..1 to (batch, count): cosines, then sines, of 1000 t at falling frequencies."""
    half = count // 2
    frequency = torch.exp(-math.log(10000.0) * torch.arange(half, dtype=torch.float32) / half)
    angles = 1000.0 * time.float()[:, None] * frequency
    return torch.cat([angles.cos(), angles.sin()], dim=1)


class HeadNorm(nn.Module):
    """Root-mean-square norm over head_dim with one learned weight per element."""

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(head_dim))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


def modulate(x: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    """Layer norm without weights (eps 1e-6), then scale and shift of (batch, 1, width)."""
    return F.layer_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale) + shift


class Stream(nn.Module):
    """The weights one kind of token (image or text) has in a joint block."""

    def __init__(self, width: int, heads: int, last: bool) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.query_norm = HeadNorm(width // heads)
        self.key_norm = HeadNorm(width // heads)
        if not last:
            self.out = nn.Linear(width, width)
            self.fc1 = nn.Linear(width, 4 * width)
            self.fc2 = nn.Linear(4 * width, width)

    def project(self, x: Tensor, shift: Tensor, scale: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = (split_heads(p, self.heads) for p in self.qkv(modulate(x, shift, scale)).chunk(3, -1))
        return self.query_norm(query), self.key_norm(key), value

    def finish(self, x: Tensor, attended: Tensor, gate1: Tensor, shift: Tensor, scale: Tensor, gate2: Tensor) -> Tensor:
        x = x + gate1 * self.out(attended)
        hidden = F.gelu(self.fc1(modulate(x, shift, scale)), approximate="tanh")
        return x + gate2 * self.fc2(hidden)


class JointBlock(nn.Module):
    """Text and image tokens attend in one sequence; each kind has its own weights.

    The modulation is the shared one plus this block's learned `offset` (12, width): for the image, then
    for the text: shift, scale, gate of the attention, shift, scale, gate of the MLP. In the last block
    the text only gives queries, keys and values: nothing reads it afterwards.
    """

    def __init__(self, width: int, heads: int, last: bool) -> None:
        super().__init__()
        self.last = last
        self.image = Stream(width, heads, last=False)
        self.text = Stream(width, heads, last=last)
        self.offset = nn.Parameter(torch.zeros(12, width))

    def forward(
        self, image: Tensor, text: Tensor, modulation: Tensor, cosine: Tensor, sine: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        m = (modulation + self.offset).unsqueeze(2).unbind(1)
        image_parts = self.image.project(image, m[0], m[1])
        text_parts = self.text.project(text, m[6], m[7])
        query, key, value = (torch.cat(pair, dim=2) for pair in zip(text_parts, image_parts))
        query, key = rotate(query, cosine, sine), rotate(key, cosine, sine)
        joined = merge_heads(attention(query, key, value, mask))
        words = text.shape[1]
        image = self.image.finish(image, joined[:, words:], m[2], m[3], m[4], m[5])
        if not self.last:
            text = self.text.finish(text, joined[:, :words], m[8], m[9], m[10], m[11])
        return image, text


class ShapesTransformer2DModel(nn.Module):
    """Velocity of a noisy latent, for any height and width."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.width
        self.config = config
        self.image_in = nn.Linear(config.latent_channels, width)
        self.position_in = nn.Linear(4 * config.position_frequencies, width, bias=False)
        self.text_in = nn.Linear(config.text_width, width)
        self.time_in = nn.Linear(config.time_features, width)
        self.time_out = nn.Linear(width, width)
        self.pooled_in = nn.Linear(config.text_width, width)
        self.modulation = nn.Linear(width, 12 * width)
        last = config.blocks - 1
        self.blocks = nn.ModuleList(JointBlock(width, config.heads, last=i == last) for i in range(config.blocks))
        self.final_modulation = nn.Linear(width, 2 * width)
        self.image_out = nn.Linear(width, config.latent_channels)
        self._tables: dict[tuple[int, int, int], tuple[Tensor, Tensor, Tensor]] = {}
        self._start_as_identity()

    def _start_as_identity(self) -> None:
        """Blocks begin as the identity: open gates over output layers of zero."""
        for layer in (self.modulation, self.final_modulation, self.image_out):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        for block in self.blocks:
            with torch.no_grad():
                block.offset[[2, 5, 8, 11]] = 1.0
            for stream in (block.image, block.text):
                for name in ("out", "fc2"):
                    if hasattr(stream, name):
                        nn.init.zeros_(getattr(stream, name).weight)
                        nn.init.zeros_(getattr(stream, name).bias)

    def tables(self, text: int, height: int, width: int) -> tuple[Tensor, Tensor, Tensor]:
        """Rotary cosine and sine and the position features of one size, kept for the next call."""
        size = (text, height, width)
        if size not in self._tables:
            head_dim = self.config.width // self.config.heads
            features = position_features(height, width, self.config.position_frequencies)
            self._tables[size] = (*rotary_tables(text, height, width, head_dim, self.config), features)
        return self._tables[size]

    def forward(self, latent: Tensor, time: Tensor, states: Tensor, pooled: Tensor, mask: Tensor) -> Tensor:
        """(batch, C, H, W), (batch,) in 0..1, (batch, L, D), (batch, D), bool (batch, L) to (batch, C, H, W)."""
        batch, _, height, width = latent.shape
        words = states.shape[1]
        cosine, sine, features = self.tables(words, height, width)
        image = self.image_in(latent.flatten(2).transpose(1, 2)) + self.position_in(features)
        text = self.text_in(states)
        embedded = self.time_out(F.silu(self.time_in(time_features(time, self.config.time_features))))
        condition = F.silu(embedded + self.pooled_in(pooled))
        modulation = self.modulation(condition).unflatten(1, (12, -1))
        seen = F.pad(mask, (0, height * width), value=True)[:, None, None, :]
        for block in self.blocks:
            image, text = block(image, text, modulation, cosine, sine, seen)
        shift, scale = self.final_modulation(condition).unsqueeze(1).chunk(2, dim=-1)
        velocity = self.image_out(modulate(image, shift, scale))
        return velocity.transpose(1, 2).unflatten(2, (height, width))


# --- Autoencoder -------------------------------------------------------------------------------------


class ResBlock(nn.Module):
    """Norm, SiLU, 3x3 convolution, twice, added to the input; the width stays."""

    def __init__(self, width: int, groups: int) -> None:
        super().__init__()
        self.norm1 = nn.GroupNorm(groups, width)
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.norm2 = nn.GroupNorm(groups, width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.conv1(F.silu(self.norm1(x)))
        return x + self.conv2(F.silu(self.norm2(hidden)))


class PictureAttention(nn.Module):
    """Single-head self-attention over all cells (head_dim = width), added to the input."""

    def __init__(self, width: int, groups: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(groups, width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        _, _, height, width = x.shape
        tokens = self.norm(x).flatten(2).transpose(1, 2)
        query, key, value = (split_heads(part, 1) for part in self.qkv(tokens).chunk(3, dim=-1))
        joined = self.out(merge_heads(attention(query, key, value)))
        return x + joined.transpose(1, 2).unflatten(2, (height, width))


class Encoder(nn.Module):
    """(batch, 3, H, W) to raw latents (batch, C, H / 4, W / 4), softly bounded to +-3."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        low, mid, high = config.vae_widths
        groups = config.vae_groups
        self.conv_in = nn.Conv2d(3, low, 3, padding=1)
        self.res1 = ResBlock(low, groups)
        self.down1 = nn.Conv2d(low, mid, 3, stride=2, padding=1)
        self.res2 = ResBlock(mid, groups)
        self.down2 = nn.Conv2d(mid, high, 3, stride=2, padding=1)
        self.res3 = ResBlock(high, groups)
        self.attention = PictureAttention(high, groups)
        self.res4 = ResBlock(high, groups)
        self.norm = nn.GroupNorm(groups, high)
        self.conv_out = nn.Conv2d(high, config.latent_channels, 3, padding=1)

    def forward(self, picture: Tensor) -> Tensor:
        x = self.down1(self.res1(self.conv_in(picture)))
        x = self.res3(self.down2(self.res2(x)))
        x = self.res4(self.attention(x))
        return 3 * torch.tanh(self.conv_out(F.silu(self.norm(x))) / 3)


class Decoder(nn.Module):
    """Raw latents (batch, C, h, w) to pictures (batch, 3, 4 h, 4 w); nearest upscaling before convolutions."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        low, mid, high = config.vae_widths
        groups = config.vae_groups
        self.conv_in = nn.Conv2d(config.latent_channels, high, 3, padding=1)
        self.res1 = ResBlock(high, groups)
        self.attention = PictureAttention(high, groups)
        self.res2 = ResBlock(high, groups)
        self.up1 = nn.Conv2d(high, mid, 3, padding=1)
        self.res3 = ResBlock(mid, groups)
        self.res4 = ResBlock(mid, groups)
        self.up2 = nn.Conv2d(mid, low, 3, padding=1)
        self.res5 = ResBlock(low, groups)
        self.norm = nn.GroupNorm(groups, low)
        self.conv_out = nn.Conv2d(low, 3, 3, padding=1)

    def forward(self, latent: Tensor) -> Tensor:
        x = self.res2(self.attention(self.res1(self.conv_in(latent))))
        x = self.res4(self.res3(self.up1(F.interpolate(x, scale_factor=2.0, mode="nearest"))))
        x = self.res5(self.up2(F.interpolate(x, scale_factor=2.0, mode="nearest")))
        return self.conv_out(F.silu(self.norm(x)))


class Autoencoder(nn.Module):
    """Encoder and decoder; `encode` and `decode` speak normalised latents, as the denoiser does."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)

    def _statistics(self) -> tuple[Tensor, Tensor]:
        mean, std = torch.tensor(self.config.latent_mean), torch.tensor(self.config.latent_std)
        return mean[:, None, None], std[:, None, None]

    def encode(self, picture: Tensor) -> Tensor:
        mean, std = self._statistics()
        return (self.encoder(picture) - mean) / std

    def decode(self, latent: Tensor) -> Tensor:
        mean, std = self._statistics()
        return self.decoder(latent * std + mean)


# --- The whole ---------------------------------------------------------------------------------------


class ShapesPipeline(nn.Module):
    """The three networks and the sampling loop."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.te = TextEncoder(config)
        self.transformer = ShapesTransformer2DModel(config)
        self.vae = Autoencoder(config)

    def times(self, steps: int, tokens: int) -> Tensor:
        """steps + 1 times from 1 to 0, shifted towards 1 the more image tokens there are."""
        return shift_time(torch.linspace(1.0, 0.0, steps + 1), tokens, self.config)

    @torch.no_grad()
    def sample(
        self,
        prompts: list[str],
        noise: Tensor,
        steps: int = 20,
        guidance: float = 3.0,
        on_step: Callable[[int, Tensor], None] | None = None,
    ) -> Tensor:
        """Pictures (batch, 3, 4 h, 4 w) in 0..1 from noise (batch, C, h, w).

        Euler steps along v = noise - clean. With guidance the batch is doubled (prompts, then null
        prompts): v = v_null + guidance * (v_prompt - v_null).
        """
        count = len(prompts)
        ids, mask = tokenize(prompts + [""] * count, self.config)
        states, pooled = self.te(ids, mask)
        latent = noise
        times = self.times(steps, noise.shape[2] * noise.shape[3])
        for step in range(steps):
            doubled = torch.cat([latent, latent])
            velocity = self.transformer(doubled, times[step].expand(2 * count), states, pooled, mask)
            told, free = velocity.chunk(2)
            latent = latent + (times[step + 1] - times[step]) * (free + guidance * (told - free))
            if on_step:
                on_step(step, latent)
        return (self.vae.decode(latent) * 0.5 + 0.5).clamp(0, 1)


def shift_time(time: Tensor, tokens: int, config: ModelConfig) -> Tensor:
    """s t / (1 + (s - 1) t) with s = shift_base * sqrt(tokens / shift_tokens)."""
    shift = config.shift_base * math.sqrt(tokens / config.shift_tokens)
    return shift * time / (1 + (shift - 1) * time)


def load_pipeline(folder: Path) -> ShapesPipeline:
    """The model as shipped: config.json and shapes.safetensors, computed in float32."""
    from safetensors.torch import load_file

    pipeline = ShapesPipeline(ModelConfig.from_dict(json.loads((folder / "config.json").read_text())))
    weights = load_file(str(folder / "shapes.safetensors"))
    pipeline.load_state_dict({name: tensor.float() for name, tensor in weights.items()})
    return pipeline.eval()
