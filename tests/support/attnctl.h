// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QProcess>
#include <QString>
#include <QStringList>

#include <nlohmann/json.hpp>

namespace attn::test {

/// What the real program answered.
struct Answer {
  int code = -1;
  QString out;
  QString err;
  [[nodiscard]] nlohmann::json parsed() const { return nlohmann::json::parse(out.toStdString()); }
};

/// Runs attnctl as people do and waits for its end.
inline Answer run_attnctl(const QStringList& arguments) {
  QProcess process;
  process.start(QStringLiteral(ATTN_BIN "/attnctl"), arguments);
  if (!process.waitForFinished(60000)) qFatal("attnctl did not end");
  return {process.exitCode(), QString::fromUtf8(process.readAllStandardOutput()),
          QString::fromUtf8(process.readAllStandardError())};
}

}  // namespace attn::test
