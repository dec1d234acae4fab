// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/export_service.h"

#include "app/jobs/files/atomic_file.h"
#include "core/exchange/diff.h"
#include "core/exchange/sdnext_config.h"
#include "ui/format/format.h"

#include <filesystem>

namespace attn::app {

namespace {

namespace fs = std::filesystem;

std::optional<SdNextForm> form_of(ui::ConfigForm form) {
  switch (form) {
    case ui::ConfigForm::as_file:
      return std::nullopt;
    case ui::ConfigForm::overrides:
      return SdNextForm::overrides;
    case ui::ConfigForm::selector:
      return SdNextForm::selector;
  }
  return std::nullopt;
}

fs::path path_of(const QString& path) { return {path.toStdU16String()}; }

/// A file as it is and as it would be.
struct Draft {
  std::string before;
  bool exists = false;
  ExportResult result;
};

Expected<Draft> draft(const Engine& engine, const QString& path, ui::ConfigForm form) {
  Draft made;
  std::error_code ignored;
  made.exists = fs::exists(path_of(path), ignored);
  if (made.exists) {
    Expected<std::string> text = read_text(path_of(path));
    if (!text) return fail(text.error());
    made.before = std::move(*text);
  } else {
    const fs::path folder = fs::absolute(path_of(path)).parent_path();
    if (!fs::is_directory(folder, ignored))
      return fail("there is no folder " + folder.string() + "; choose one that is there");
  }
  Expected<ExportResult> result = export_config(made.before, engine.specs(), engine.values(), form_of(form));
  if (!result) return fail(ui::utf8_of(path) + ": " + result.error());
  made.result = std::move(*result);
  return made;
}

ui::ExportPreview preview_of(const Engine& engine, const QString& path, ui::ConfigForm form) {
  ui::ExportPreview out;
  out.path = path;
  const Expected<Draft> made = draft(engine, path, form);
  if (!made) {
    out.error = ui::text_of(made.error());
    return out;
  }
  out.new_file = !made->exists;
  out.form = made->result.form == SdNextForm::selector ? ui::ConfigForm::selector : ui::ConfigForm::overrides;
  if (!made->exists || made->before != made->result.text) {
    out.diff = ui::text_of(diff_text(diff_lines(made->before, made->result.text)));
  }
  for (const std::string& loss : made->result.losses) out.losses << ui::text_of(loss);
  for (const std::string& note : made->result.notes) out.notes << ui::text_of(note);
  return out;
}

ui::ExportResult write_to(const Engine& engine, const QString& path, ui::ConfigForm form) {
  ui::ExportResult out;
  out.path = path;
  const Expected<Draft> made = draft(engine, path, form);
  const Expected<void> written =
      made ? write_atomically(path_of(path), made->result.text, Backup::keep) : fail(made.error());
  if (!written) {
    out.error = ui::text_of(written.error());
  } else if (made->exists) {
    out.backup = path + ".bak";
  }
  return out;
}

ui::ImportResult import_from(Engine& engine, const QString& path) {
  ui::ImportResult out;
  out.path = path;
  const Expected<std::string> text = read_text(path_of(path));
  if (!text) {
    out.problems << ui::text_of(text.error());
    return out;
  }
  const std::vector<OptionSpec> specs = engine.specs();
  const Expected<ImportResult> read = import_config(*text, specs);
  if (!read) {
    out.problems << path + ": " + ui::text_of(read.error());
    return out;
  }
  for (const std::string& problem : read->problems) out.problems << ui::text_of(problem);
  for (const std::string& note : read->notes) out.notes << ui::text_of(note);
  if (!out.problems.isEmpty() || read->values.empty()) return out;

  // A key that the file leaves out stands at its default there, so it does here.
  ImportResult::Values wanted = read->values;
  wanted.insert(wanted.end(), read->absent.begin(), read->absent.end());
  const OptionValues before = engine.values();
  const Expected<bool> set = engine.set_all(wanted);
  if (!set) {
    out.problems << ui::text_of(set.error());
    return out;
  }
  for (const auto& [key, value] : wanted) {
    const OptionValue* old = before.find(key);
    if (old == nullptr || same_value(*old, value)) continue;
    out.applied << QStringLiteral("%1: %2 → %3")
                       .arg(ui::text_of(key), ui::text_of(value_text(*old)), ui::text_of(value_text(value)));
  }
  return out;
}

}  // namespace

GuiExportService::GuiExportService(Engine& engine, QObject* parent)
    : ui::ExportService(parent), engine_(engine), postbox_(this) {}

GuiExportService::~GuiExportService() = default;

void GuiExportService::preview(const QString& path, ui::ConfigForm form) {
  const std::uint64_t number = ++newest_preview_;
  worker_.post([this, number, path, form, address = postbox_.address()] {
    if (number != newest_preview_) return;  // somebody typed on
    address.post([this, number, made = preview_of(engine_, path, form)] {
      if (number == newest_preview_) emit previewed(made);
    });
  });
}

void GuiExportService::write(const QString& path, ui::ConfigForm form) {
  worker_.post([this, path, form, address = postbox_.address()] {
    address.post([this, done = write_to(engine_, path, form)] { emit written(done); });
  });
}

void GuiExportService::import(const QString& path) {
  worker_.post([this, path, address = postbox_.address()] {
    address.post([this, done = import_from(engine_, path)] { emit imported(done); });
  });
}

}  // namespace attn::app
