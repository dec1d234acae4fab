// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

namespace attn::ui {

/// A stored value that does not hold.
struct StoredFinding {
  QString key;
  QString stored;  ///< as the file has it
  QString used;
  QString fallback;
  QString problem;  ///< names the key and what would be right
};

/// What became of a settings file that the window was opened with. The file itself is never changed by that.
struct StoredReport {
  QString path;
  std::vector<StoredFinding> findings;
  QStringList notes;  ///< old spellings that were understood
  QString error;      ///< nothing of the file could be used: a sentence

  [[nodiscard]] bool is_good() const { return findings.empty() && error.isEmpty(); }
};

}  // namespace attn::ui
