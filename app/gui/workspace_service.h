// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/gui/session_folder.h"
#include "app/gui/worker.h"
#include "core/engine/engine.h"
#include "ui/link/postbox.h"
#include "ui/workspace/workspace_service.h"

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace attn::ui {
class TargetList;
}

namespace attn::app {

/// Workspaces for the window. Until begin_session() nothing is kept between starts.
class GuiWorkspaceService final : public ui::WorkspaceService {
  Q_OBJECT

 public:
  /// What is referred to outlives this.
  GuiWorkspaceService(Engine& engine, const ui::TargetList& targets, QObject* parent = nullptr);
  ~GuiWorkspaceService() override;

  /// Takes a place in a folder of windows. Reads what is left there: for the start, before a window is shown. Error: a
  /// sentence; everything else works without.
  [[nodiscard]] Expected<void> begin_session(const std::filesystem::path& folder);

  [[nodiscard]] QString settings_text() const override;
  [[nodiscard]] Expected<void> take_settings(const QString& target, const QString& profile) override;
  void look(const QString& path) override;
  void read(const QString& path) override;
  void write(const QString& path, const QString& text, bool over_others) override;
  [[nodiscard]] bool keeps() const override { return session_.has_value(); }
  void autosave(const QString& text) override;
  [[nodiscard]] std::optional<ui::LeftBehind> left_behind() const override;
  void drop_left_behind() override;
  [[nodiscard]] QString last() const override { return last_; }
  void end(const QString& text) override;

 private:
  [[nodiscard]] ui::FileWritten write_now(const QString& path, const std::string& text, bool over_others);

  Engine& engine_;
  const ui::TargetList& targets_;
  QString last_;
  std::vector<ui::LeftBehind> left_;          ///< the GUI thread's copy of what the session found
  std::optional<SessionFolder> session_;      ///< the worker's, once it is open
  std::map<std::string, std::string> known_;  ///< the worker's: files as they were last read or written here
  std::atomic<std::uint64_t> newest_autosave_{0};
  ui::Postbox postbox_;
  std::unique_ptr<Worker> worker_;  ///< last: ends first
};

}  // namespace attn::app
