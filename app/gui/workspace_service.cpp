// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/workspace_service.h"

#include "app/jobs/exchange/exchange.h"
#include "app/jobs/files/atomic_file.h"
#include "ui/format/format.h"
#include "ui/services.h"

#include <QFile>
#include <algorithm>
#include <future>

namespace attn::app {

namespace {

namespace fs = std::filesystem;

fs::path path_of(const QString& path) { return {path.toStdU16String()}; }

const ExchangeFormat& profile_format() {
  return **find_exchange_format("profile");  // it is one of this program's own
}

ui::FileLook look_at(const QString& path) {
  ui::FileLook out{path, {}, 0, {}};
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) {
    // The same sentence as for every other file.
    const Expected<std::string> text = read_text(path_of(path), 1);
    out.error = text ? file.errorString() : ui::text_of(text.error());
    return out;
  }
  out.head = file.read(ui::WorkspaceService::kHead);
  out.size = file.size();
  return out;
}

}  // namespace

GuiWorkspaceService::GuiWorkspaceService(Engine& engine, const ui::TargetList& targets, QObject* parent)
    : ui::WorkspaceService(parent),
      engine_(engine),
      targets_(targets),
      postbox_(this),
      worker_(std::make_unique<Worker>()) {}

GuiWorkspaceService::~GuiWorkspaceService() = default;

Expected<void> GuiWorkspaceService::begin_session(const fs::path& folder) {
  Expected<SessionFolder> opened = SessionFolder::open(folder);
  if (!opened) return fail(opened.error());
  session_.emplace(*std::move(opened));
  last_ = ui::text_of(session_->last());
  for (const SessionFolder::Left& left : session_->left()) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left.at.time_since_epoch()).count();
    left_.push_back({ui::text_of(left.text), QDateTime::fromSecsSinceEpoch(seconds)});
  }
  return {};
}

QString GuiWorkspaceService::settings_text() const {
  const auto written = profile_format().write(production_settings(engine_), {});
  return written ? ui::text_of(written->text) : QString();
}

Expected<void> GuiWorkspaceService::take_settings(const QString& target, const QString& profile) {
  const std::vector<Target>& all = targets_.targets();
  const std::string name = ui::utf8_of(target);
  const auto wanted = std::find_if(all.begin(), all.end(), [&](const Target& one) { return one.name == name; });
  if (wanted == all.end()) return fail("the target " + name + " is not in the list of machines");
  // Judged for the machine that it is for, before anything changes.
  ProductionSettings settings = production_settings(engine_);
  settings.specs = option_specs(engine_.registry(), *wanted);
  const Expected<ImportText> read = profile_format().read(ui::utf8_of(profile), settings, {});
  if (!read) return fail(read.error());
  if (!read->problems.empty()) return fail(read->problems.front());
  if (engine_.target().name != name) engine_.set_target(*wanted);
  return take_import(*read, engine_);
}

void GuiWorkspaceService::look(const QString& path) {
  worker_->post([this, path, address = postbox_.address()] {
    address.post([this, seen = look_at(path)] { emit looked(seen); });
  });
}

void GuiWorkspaceService::read(const QString& path) {
  worker_->post([this, path, address = postbox_.address()] {
    ui::FileText out{path, {}, {}};
    const Expected<std::string> text = read_text(path_of(path));
    if (text) {
      known_[path_of(path).string()] = *text;
      out.text = ui::text_of(*text);
    } else {
      out.error = ui::text_of(text.error());
    }
    address.post([this, out] { emit read_done(out); });
  });
}

ui::FileWritten GuiWorkspaceService::write_now(const QString& path, const std::string& text, bool over_others) {
  ui::FileWritten out{path, {}, false};
  const fs::path file = path_of(path);
  const auto known = known_.find(file.string());
  const Expected<std::string> there = read_text(file);
  if (!over_others && known != known_.end() && there && *there != known->second && *there != text) {
    out.changed_by_others = true;
    out.error = tr("%1 was changed by somebody else since it was read here; it is as they left it.").arg(path);
    return out;
  }
  const Expected<void> done = write_atomically(file, text);
  if (done) known_[file.string()] = text;
  if (!done) out.error = ui::text_of(done.error());
  return out;
}

void GuiWorkspaceService::write(const QString& path, const QString& text, bool over_others) {
  worker_->post([this, path, bytes = ui::utf8_of(text), over_others, address = postbox_.address()] {
    address.post([this, done = write_now(path, bytes, over_others)] { emit written(done); });
  });
}

void GuiWorkspaceService::autosave(const QString& text) {
  if (!session_) return;
  const std::uint64_t number = ++newest_autosave_;
  worker_->post([this, number, bytes = ui::utf8_of(text)] {
    // A disk that is full is met again in a few seconds; the window has nothing better to do with it than to go on.
    if (number == newest_autosave_ && session_) (void)session_->keep(bytes);
  });
}

std::optional<ui::LeftBehind> GuiWorkspaceService::left_behind() const {
  return left_.empty() ? std::nullopt : std::optional(left_.front());
}

void GuiWorkspaceService::drop_left_behind() {
  if (left_.empty()) return;
  left_.erase(left_.begin());
  worker_->post([this] {
    if (session_) session_->drop_left();
  });
}

void GuiWorkspaceService::end(const QString& text) {
  if (!session_) return;
  std::promise<void> done;
  worker_->post([this, &done, bytes = ui::utf8_of(text)] {
    (void)session_->end(bytes);
    done.set_value();
  });
  done.get_future().wait();
  session_.reset();
}

}  // namespace attn::app
