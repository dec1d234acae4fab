// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/filter/filter_field.h"

#include <algorithm>
#include <vector>

namespace attn::ui {

namespace {

using F = FilterField;
using K = FieldKind;
using U = FieldUnit;

constexpr std::array<FieldSpec, kFilterFields> kFields{{
    {F::role, "role", "", K::text, U::none, "te, transformer, vae", "role:vae"},
    {F::step, "step", "steps", K::number, U::none, "denoising step; a route matches with any of its steps",
     "step:3..12"},
    {F::backend, "backend", "", K::text, U::none, "who served, with +sparse where a selection was used",
     "backend:sdnq"},
    {F::kernel, "kernel", "variant", K::text, U::none, "the kernel's own word", "kernel:int8"},
    {F::requested, "requested", "", K::text, U::none, "who was asked first", "requested:sage"},
    {F::selected, "selected", "", K::text, U::none, "who accepted the call", "selected:flash"},
    {F::executed, "executed", "", K::text, U::none, "who returned the result", "executed:sdpa"},
    {F::fallback, "fallback", "", K::flag, U::none, "another one served than was asked for", "fallback:yes"},
    {F::sparse, "sparse", "", K::flag, U::none, "a block selection was used", "sparse:yes"},
    {F::query, "q", "query", K::number, U::none, "query tokens", "q>8192"},
    {F::key, "k", "key", K::number, U::none, "key tokens", "k:77"},
    {F::heads, "heads", "", K::number, U::none, "query heads", "heads<4"},
    {F::dim, "dim", "head_dim", K::number, U::none, "head_dim", "dim:64,128"},
    {F::batch, "batch", "", K::number, U::none, "batch elements", "batch>1"},
    {F::dtype, "dtype", "", K::text, U::none, "element types of query, key and value", "dtype:fp32"},
    {F::mask, "mask", "", K::text, U::none, "none, all true, key padding, causal, arbitrary", "-mask:none"},
    {F::strides, "strides", "", K::text, U::none, "contiguous, transposed, fused-qkv, expanded", "strides:fused-qkv"},
    {F::calls, "calls", "", K::number, U::none, "how many calls", "calls>100"},
    {F::time, "time", "", K::number, U::seconds, "of all calls of a route, or of a call; us, ms, s, min", "time>1ms"},
    {F::share, "share", "", K::number, U::percent, "of the run, in percent", "share>5%"},
    {F::error, "error", "", K::number, U::none, "relative L1 error where it was measured", "error>0.01"},
    {F::kept, "kept", "density", K::number, U::percent, "share of the tiles that were computed", "kept<50%"},
    {F::nan, "nan", "", K::number, U::none, "NaN in the output", "nan>0"},
    {F::inf, "inf", "", K::number, U::none, "Inf in the output", "inf>0"},
}};

/// Insertions, deletions and replacements between two words.
int distance(QStringView a, QStringView b) {
  std::vector<int> row(static_cast<std::size_t>(b.size()) + 1);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<int>(i);
  for (qsizetype i = 0; i < a.size(); ++i) {
    int diagonal = std::exchange(row[0], static_cast<int>(i) + 1);
    for (std::size_t j = 1; j < row.size(); ++j) {
      const bool same = a[i].toLower() == b[static_cast<qsizetype>(j) - 1].toLower();
      const int here = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (same ? 0 : 1)});
      diagonal = std::exchange(row[j], here);
    }
  }
  return row.back();
}

}  // namespace

std::span<const FieldSpec> filter_fields() noexcept { return kFields; }

const FieldSpec& spec_of(FilterField field) noexcept { return kFields[static_cast<std::size_t>(field)]; }

const FieldSpec* find_field(QStringView name) {
  for (const FieldSpec& spec : kFields) {
    const bool by_alias = spec.alias[0] != '\0' && name.compare(QLatin1String(spec.alias), Qt::CaseInsensitive) == 0;
    if (by_alias || name.compare(QLatin1String(spec.name), Qt::CaseInsensitive) == 0) return &spec;
  }
  return nullptr;
}

const FieldSpec* nearest_field(QStringView name) {
  constexpr qsizetype kLongest = 24;  // nobody misspells that far
  if (name.size() < 2 || name.size() > kLongest) return nullptr;
  const FieldSpec* nearest = nullptr;
  int best = 3;
  for (const FieldSpec& spec : kFields) {
    const QString text = QString::fromLatin1(spec.name);
    const int far = text.size() > 2 && text.startsWith(name, Qt::CaseInsensitive) ? 1 : distance(name, text);
    if (far < best && far < name.size()) {
      best = far;
      nearest = &spec;
    }
  }
  return nearest;
}

}  // namespace attn::ui
