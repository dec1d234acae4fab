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

/// Nothing when attnctl refuses `words` as it refuses wrong input: exit code 2, one sentence on stderr that contains
/// `part`, nothing on stdout. Otherwise what it did.
inline QString not_refused(const QStringList& words, const QString& part) {
  const Answer answer = run_attnctl(words);
  const bool refused =
      answer.code == 2 && answer.err.contains(part) && answer.err.count('\n') == 1 && answer.out.isEmpty();
  return refused ? QString() : QStringLiteral("exit code %1, stderr: %2").arg(answer.code).arg(answer.err);
}

}  // namespace attn::test
