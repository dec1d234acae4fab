// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/stored_settings.h"

#include "app/jobs/exchange/exchange.h"
#include "app/jobs/exchange/stored_settings.h"
#include "app/jobs/files/atomic_file.h"
#include "ui/format/format.h"

namespace attn::app {

ui::StoredReport open_stored_settings(Engine& engine, const QString& path) {
  ui::StoredReport report;
  report.path = path;
  const Expected<std::string> text = read_text({path.toStdU16String()});
  if (!text) {
    report.error = ui::text_of(text.error());
    return report;
  }
  const auto read = effective_settings(guess_exchange_format(*text), *text, production_settings(engine), {});
  const Expected<void> taken = read ? take_import(read->holds, engine) : fail(read.error());
  if (!taken) {
    report.error = ui::text_of(taken.error());
    return report;
  }
  for (const std::string& note : read->holds.notes) report.notes << ui::text_of(note);
  for (const StoredValue& value : read->wrong) {
    report.findings.push_back({ui::text_of(value.key), ui::text_of(value.stored), ui::text_of(value.effective),
                               ui::text_of(value.fallback), ui::text_of(value.problem)});
  }
  return report;
}

}  // namespace attn::app
