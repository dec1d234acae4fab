// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/exchange/formats.h"

#include <string_view>

/// Writers and readers of the single formats; formats.cpp lists them.
namespace attn::exchange {

[[nodiscard]] Expected<ExportText> write_sdnext(const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ImportText> read_sdnext(std::string_view, const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ExportText> write_sdnext_request(const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ImportText> read_sdnext_request(std::string_view, const ProductionSettings&,
                                                       const ExportOptions&);
[[nodiscard]] Expected<ExportText> write_unsloth(const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ImportText> read_unsloth(std::string_view, const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ExportText> write_snippet(const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ImportText> read_snippet(std::string_view, const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ExportText> write_environment(const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ImportText> read_environment(std::string_view, const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ExportText> write_flags(const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ImportText> read_flags(std::string_view, const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ExportText> write_sparse_node(const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ImportText> read_sparse_node(std::string_view, const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ExportText> write_profile(const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ImportText> read_profile(std::string_view, const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ExportText> write_svg(const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ImportText> read_svg(std::string_view, const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ExportText> write_vsa(const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ImportText> read_vsa(std::string_view, const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ExportText> write_sglang(const ProductionSettings&, const ExportOptions&);
[[nodiscard]] Expected<ImportText> read_sglang(std::string_view, const ProductionSettings&, const ExportOptions&);

}  // namespace attn::exchange
