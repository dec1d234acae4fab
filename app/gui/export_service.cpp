// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/export_service.h"

#include "app/jobs/exchange/exchange.h"
#include "app/jobs/exchange/stored_settings.h"
#include "app/jobs/files/atomic_file.h"
#include "core/exchange/diff.h"
#include "ui/format/format.h"

#include <filesystem>

namespace attn::app {

namespace {

namespace fs = std::filesystem;

fs::path path_of(const QString& path) { return {path.toStdU16String()}; }

/// A file as it is and as it would be.
struct Draft {
  std::string before;
  bool exists = false;
  ExportText made;
};

/// What stands at `path` goes to `draft`. Error: nothing can be written there.
Expected<void> look_at(const QString& path, Draft& draft) {
  std::error_code ignored;
  draft.exists = fs::exists(path_of(path), ignored);
  if (!draft.exists) {
    const fs::path folder = fs::absolute(path_of(path)).parent_path();
    if (fs::is_directory(folder, ignored)) return {};
    return fail("there is no folder " + folder.string() + "; choose one that is there");
  }
  Expected<std::string> text = read_text(path_of(path));
  if (!text) return fail(text.error());
  draft.before = std::move(*text);
  return {};
}

Expected<Draft> draft_of(const Engine& engine, const ui::ExportRequest& request) {
  Draft draft;
  if (!request.path.isEmpty()) {
    if (auto looked = look_at(request.path, draft); !looked) return fail(looked.error());
  }
  ExportOptions options = request.options;
  options.existing = draft.before;
  if (options.target.empty()) options.target = engine.target().name;
  Expected<ExportText> made = request.format->write(production_settings(engine), options);
  if (!made) {
    const std::string where = request.path.isEmpty() ? std::string(request.format->title) : ui::utf8_of(request.path);
    return fail(where + ": " + made.error());
  }
  draft.made = std::move(*made);
  return draft;
}

QStringList texts_of(const std::vector<std::string>& sentences) {
  QStringList out;
  for (const std::string& sentence : sentences) out << ui::text_of(sentence);
  return out;
}

ui::ExportPreview preview_of(const Engine& engine, const ui::ExportRequest& request) {
  ui::ExportPreview out;
  out.path = request.path;
  out.format = request.format;
  const Expected<Draft> draft = draft_of(engine, request);
  if (!draft) {
    out.error = ui::text_of(draft.error());
    return out;
  }
  out.new_file = !draft->exists;
  out.form = draft->made.form;
  out.text = ui::text_of(draft->made.text);
  if (!draft->exists || draft->before != draft->made.text) {
    out.diff = ui::text_of(diff_text(diff_lines(draft->before, draft->made.text)));
  }
  out.losses = texts_of(draft->made.losses);
  out.notes = texts_of(draft->made.notes);
  return out;
}

ui::ExportResult write_to(const Engine& engine, const ui::ExportRequest& request) {
  ui::ExportResult out;
  out.path = request.path;
  const Expected<Draft> draft = draft_of(engine, request);
  const Expected<void> written =
      draft ? write_atomically(path_of(request.path), draft->made.text, Backup::keep) : fail(draft.error());
  if (!written) {
    out.error = ui::text_of(written.error());
  } else if (draft->exists) {
    out.backup = request.path + ".bak";
  }
  return out;
}

std::vector<ui::ImportChange> shown(const std::vector<SettingChange>& changes) {
  std::vector<ui::ImportChange> out;
  for (const SettingChange& change : changes) {
    out.push_back({ui::text_of(change.name), ui::text_of(change.before), ui::text_of(change.after), change.left_out});
  }
  return out;
}

/// Reads the text again without the values that do not hold, which are returned. `read` stays as it is when more is
/// wrong than single values.
std::vector<StoredValue> set_aside_wrong_values(const ExchangeFormat& format, std::string_view text,
                                                const ProductionSettings& now, const ExportOptions& options,
                                                ImportText& read) {
  auto effective = effective_settings(format, text, now, options);
  if (!effective || effective->wrong.empty()) return {};
  read = std::move(effective->holds);
  return std::move(effective->wrong);
}

ui::ImportPreview read_from(const Engine& engine, const ui::ImportRequest& request) {
  ui::ImportPreview out;
  out.path = request.path;
  const Expected<std::string> text = read_text(path_of(request.path));
  if (!text) {
    out.problems << ui::text_of(text.error());
    return out;
  }
  out.format = request.format != nullptr ? request.format : &guess_exchange_format(*text);
  const ProductionSettings now = production_settings(engine);
  Expected<ImportText> read = out.format->read(*text, now, request.options);
  if (!read) {
    out.problems << request.path + ": " + ui::text_of(read.error());
    return out;
  }
  out.read = std::move(*read);
  std::vector<StoredValue> wrong;
  if (!out.read.problems.empty()) wrong = set_aside_wrong_values(*out.format, *text, now, request.options, out.read);
  out.changes = shown(changes_of(out.read, now));
  out.notes = texts_of(out.read.notes);
  out.problems = texts_of(out.read.problems);
  for (const StoredValue& value : wrong) {
    out.wrong << ui::text_of(value.sentence() + ": " + value.problem);
    for (ui::ImportChange& change : out.changes) {
      if (change.name == ui::text_of(value.key)) change.stored = ui::text_of(value.stored);
    }
  }
  const std::string target = engine.target().name;
  if (!out.read.target.empty() && out.read.target != target) {
    out.notes << ui::ExportService::tr("the settings were made for %1; the target stays %2")
                     .arg(ui::text_of(out.read.target), ui::text_of(target));
  }
  return out;
}

}  // namespace

GuiExportService::GuiExportService(Engine& engine, QObject* parent)
    : ui::ExportService(parent), engine_(engine), postbox_(this) {}

GuiExportService::~GuiExportService() = default;

void GuiExportService::preview(const ui::ExportRequest& request) {
  const std::uint64_t number = ++newest_preview_;
  worker_.post([this, number, request, address = postbox_.address()] {
    if (number != newest_preview_) return;  // somebody typed on
    address.post([this, number, made = preview_of(engine_, request)] {
      if (number == newest_preview_) emit previewed(made);
    });
  });
}

void GuiExportService::write(const ui::ExportRequest& request) {
  worker_.post([this, request, address = postbox_.address()] {
    address.post([this, done = write_to(engine_, request)] { emit written(done); });
  });
}

void GuiExportService::read(const ui::ImportRequest& request) {
  const std::uint64_t number = ++newest_read_;
  worker_.post([this, number, request, address = postbox_.address()] {
    if (number != newest_read_) return;
    address.post([this, number, made = read_from(engine_, request)] {
      if (number == newest_read_) emit import_previewed(made);
    });
  });
}

void GuiExportService::apply(const ui::ImportPreview& preview) {
  emit applying();
  worker_.post([this, path = preview.path, text = preview.read, address = postbox_.address()] {
    ProductionSettings before = production_settings(engine_);
    const ui::ImportResult done = take(path, text);
    if (done.error.isEmpty()) before_ = std::move(before);
    address.post([this, done] { emit imported(done); });
  });
}

void GuiExportService::put_back() {
  emit applying();
  worker_.post([this, address = postbox_.address()] {
    if (!before_) {
      address.post([this] { emit imported({}); });
      return;
    }
    ImportText text;
    for (const auto& [key, value] : before_->values.all()) text.values.emplace_back(key, value);
    text.attention = before_->attention;
    const Quarantine quarantine = before_->quarantine;
    const ui::ImportResult done = take({}, text);
    engine_.set_quarantine(quarantine);
    before_.reset();
    address.post([this, done] { emit imported(done); });
  });
}

ui::ImportResult GuiExportService::take(const QString& path, const ImportText& text) {
  ui::ImportResult out;
  out.path = path;
  const std::vector<SettingChange> changes = changes_of(text, production_settings(engine_));
  const Expected<void> taken = take_import(text, engine_);
  if (!taken) {
    out.error = ui::text_of(taken.error());
    return out;
  }
  out.changes = shown(changes);
  return out;
}

}  // namespace attn::app
