// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/workspace/workspace_service.h"

#include <QString>
#include <span>

namespace attn::ui {

/// What a file turns out to be by what is in it; its name decides nothing.
enum class FileKind : std::uint8_t {
  workspace,
  settings,  ///< any of the exchange formats
  picture,   ///< PNG
  levers,    ///< results of measured levers
  mask,      ///< NumPy array
  tensors,   ///< safetensors
  log,       ///< of a server
  empty,
  other,
};

struct FileKindRow {
  FileKind kind = FileKind::other;
  const char* what = "";     ///< "a workspace"
  const char* pattern = "";  ///< "*.attnscope": how such files are called
  bool opens = false;        ///< the window can open it
  const char* advice = "";   ///< of one that it cannot open: what would be right
  bool (*looks_so)(const FileLook&) = nullptr;
};

/// The one list of what can be opened and of what is mistaken for it, in the order in which a file is tried.
[[nodiscard]] std::span<const FileKindRow> file_kinds() noexcept;
[[nodiscard]] const FileKindRow& kind_of(const FileLook& look);
/// One sentence about a file that cannot be opened: what it is, and what would be right.
[[nodiscard]] QString refusal_of(const FileLook& look);
/// For a file dialog: everything that opens, then each kind.
[[nodiscard]] QString open_filter();

}  // namespace attn::ui
