// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/picture.h"
#include "core/tensor/expected.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace attn::app {

/// Texts of a PNG by their keywords (1 to 79 Latin-1 characters).
using PngTexts = std::map<std::string, std::string>;

/// The bytes of a PNG with a tEXt chunk for each of `texts`, which must be Latin-1 without zero bytes. Error: libpng's
/// reason.
[[nodiscard]] Expected<std::string> png_bytes(const Picture& picture, const PngTexts& texts);

/// The texts that stand before the pixels of a PNG (tEXt and zTXt; repeated keywords count once, the first time).
/// Error: it is no PNG, or broken.
[[nodiscard]] Expected<PngTexts> read_png_texts(std::string_view bytes);

/// The pixels as eight bits a channel without transparency. Error: it is no PNG, broken, or larger than 16384 a side.
[[nodiscard]] Expected<Picture> read_png(std::string_view bytes);

}  // namespace attn::app
