// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>

namespace attn::app {

/// How much this process grows from here on. The high-water mark is the whole process's: one of these at a time.
class HostPeak {
 public:
  /// Gives free memory back to the system and resets its high-water mark, where the system allows that.
  HostPeak();
  /// Bytes between what the process held at the beginning and the most since; nullopt where that is not known.
  [[nodiscard]] std::optional<std::int64_t> grown() const;

 private:
  std::optional<std::int64_t> held_;
};

}  // namespace attn::app
