// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workspace/workspace_document.h"

#include "ui/format/format.h"
#include "ui/workload_panel/workload_panel.h"
#include "ui/workspace/notice_banner.h"
#include "ui/workspace/workspace_text.h"

#include <QElapsedTimer>
#include <QFileDialog>
#include <QFileInfo>
#include <QMainWindow>
#include <QSettings>
#include <QStatusBar>

namespace attn::ui {

namespace {

constexpr int kTold = 4000;  ///< milliseconds that a good end stays in the status bar

QString run_text(const RunContext& run, const JobControl& jobs) {
  QString name = run.model;
  for (const ModelInfo& model : jobs.models()) {
    if (model.id == run.model) name = model.name;
  }
  QString where = counted(run.calls_done, WorkspaceDocument::tr("call"));
  if (run.calls_total > 0) {
    where = WorkspaceDocument::tr("%1 of %2")
                .arg(count_text(run.calls_done), counted(run.calls_total, WorkspaceDocument::tr("call")));
  }
  if (run.steps > 0) where += WorkspaceDocument::tr(", step %1 of %2").arg(run.step + 1).arg(run.steps);
  return WorkspaceDocument::tr("%1 at %2").arg(name, where);
}

}  // namespace

WorkspaceDocument::WorkspaceDocument(WindowState& state, WorkspaceService& service, NoticeBanner& banner,
                                     QSettings* settings)
    : QObject(&state), state_(state), service_(service), banner_(banner), settings_(settings) {
  connect(&service_, &WorkspaceService::read_done, this, &WorkspaceDocument::take_read);
  connect(&service_, &WorkspaceService::written, this, &WorkspaceDocument::take_written);
  timer_.setInterval(kAutosaveInterval);
  connect(&timer_, &QTimer::timeout, this, &WorkspaceDocument::autosave_now);
  if (settings_ != nullptr) recent_ = settings_->value("files/recent").toStringList();
}

void WorkspaceDocument::start(bool fresh) {
  if (!fresh && !service_.last().isEmpty()) put(service_.last(), tr("the workspace of last time"), true);
  offer_left_behind();
  timer_.start();
  autosave_now();
}

void WorkspaceDocument::offer_left_behind() {
  const auto left = service_.left_behind();
  if (!left) return;
  const Expected<Workspace> workspace = read_workspace(utf8_of(left->text));
  if (!workspace) {
    service_.drop_left_behind();
    offer_left_behind();
    return;
  }
  const bool today = left->at.date() == QDate::currentDate();
  const QString at = left->at.toString(today ? QStringLiteral("HH:mm") : QStringLiteral("yyyy-MM-dd HH:mm"));
  QStringList facts;
  if (!workspace->file.isEmpty()) facts << QFileInfo(workspace->file).fileName();
  if (workspace->run && workspace->run->state == RunContext::State::running) {
    facts << run_text(*workspace->run, state_.parts().services.jobs);
  }
  const QString what = facts.isEmpty() ? QString() : ": " + facts.join(", ");
  const QString sentence = tr("A window ended without being closed, last kept at %1%2.").arg(at, what);
  banner_.say(sentence, "pending",
              {{"recovery_restore", tr("Restore"), [this, text = left->text] { restore_left_behind(text); }},
               {"recovery_discard", tr("Discard"), [this] {
                  service_.drop_left_behind();
                  offer_left_behind();
                }}});
}

void WorkspaceDocument::restore_left_behind(const QString& text) {
  // Refused while a job runs: it stays where it is and can be asked for again.
  if (!put(text, tr("the kept workspace"), true)) return;
  service_.drop_left_behind();
}

bool WorkspaceDocument::put(const QString& text, const QString& whence, bool run_again) {
  const Expected<Workspace> workspace = read_workspace(utf8_of(text));
  const Expected<void> done = workspace ? state_.put(*workspace, tr("workspace")) : fail(workspace.error());
  if (!done) {
    banner_.say(tr("Nothing of %1 was taken: %2.").arg(whence, text_of(done.error())), "bad");
    return false;
  }
  path_ = workspace->file;
  saved_content_.clear();
  content_ = content_of(state_.take());
  if (!path_.isEmpty()) {
    comparing_ = path_;
    service_.read(path_);
  }
  show_title();
  emit restored();
  const auto& run = workspace->run;
  const bool planned = run && run->state == RunContext::State::finished && run->work == Work::planned;
  // Planning takes a moment and gives the same tables again; what was computed would have to be computed.
  if (run_again && planned && run->model == workspace->workload.model) {
    QTimer::singleShot(0, &state_.parts().workload, [&workload = state_.parts().workload] {
      if (!workload.draws()) workload.run();
    });
  }
  return true;
}

void WorkspaceDocument::open(const QString& path) {
  opening_ = path;
  service_.read(path);
}

void WorkspaceDocument::take_read(const FileText& read) {
  if (read.path == comparing_ && read.path != opening_) {
    comparing_.clear();
    const Expected<Workspace> there = read_workspace(utf8_of(read.text));
    if (there && read.path == path_) saved_content_ = content_of(*there);
    show_title();
    return;
  }
  if (read.path != opening_) return;
  opening_.clear();
  const QString name = QFileInfo(read.path).fileName();
  if (!read.error.isEmpty()) {
    banner_.say(tr("%1 was not opened: %2.").arg(name, read.error), "bad");
    return;
  }
  if (!put(read.text, name, true)) return;
  comparing_.clear();
  path_ = read.path;
  saved_content_ = content_;
  add_recent(read.path);
  show_title();
  autosave_now();
}

void WorkspaceDocument::save() {
  if (path_.isEmpty()) {
    ask_save_as();
    return;
  }
  write(path_, false);
}

void WorkspaceDocument::ask_save_as() {
  auto* dialog = new QFileDialog(&state_.parts().window, tr("Save the workspace"), path_,
                                 tr("Workspaces (*.attnscope);;All files (*)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setDefaultSuffix("attnscope");
  connect(dialog, &QFileDialog::fileSelected, this, &WorkspaceDocument::save_as);
  dialog->open();
}

void WorkspaceDocument::save_as(const QString& path) {
  // The person chose the name and was asked about a file of that name.
  write(path, true);
}

void WorkspaceDocument::write(const QString& path, bool over_others) {
  const Workspace workspace = state_.take();
  saving_ = path;
  saving_content_ = content_of(workspace);
  service_.write(path, text_of(write_workspace(workspace)), over_others);
}

void WorkspaceDocument::take_written(const FileWritten& written) {
  if (written.path != saving_) return;
  saving_.clear();
  if (written.changed_by_others) {
    banner_.say(written.error, "pending",
                {{"save_over", tr("Replace it"), [this, path = written.path] { write(path, true); }},
                 {"save_elsewhere", tr("Save as…"), [this] { ask_save_as(); }},
                 {"save_not", tr("Cancel"), {}}});
    return;
  }
  if (!written.error.isEmpty()) {
    banner_.say(tr("The workspace was not saved: %1.").arg(written.error), "bad");
    return;
  }
  path_ = written.path;
  saved_content_ = saving_content_;
  content_ = saving_content_;
  add_recent(written.path);
  show_title();
  state_.parts().window.statusBar()->showMessage(tr("Saved %1").arg(written.path), kTold);
}

double WorkspaceDocument::autosave_now() {
  QElapsedTimer clock;
  clock.start();
  Workspace workspace = state_.take();
  workspace.file = path_;
  content_ = content_of(workspace);
  show_title();
  std::string text = write_workspace(workspace);
  if (service_.keeps() && text != kept_) {
    kept_ = std::move(text);
    service_.autosave(text_of(kept_));
  }
  return static_cast<double>(clock.nsecsElapsed()) / 1e6;
}

void WorkspaceDocument::finish() {
  if (finished_) return;
  finished_ = true;
  timer_.stop();
  Workspace workspace = state_.take();
  workspace.file = path_;
  service_.end(text_of(write_workspace(workspace)));
}

void WorkspaceDocument::add_recent(const QString& path) {
  const QString whole = QFileInfo(path).absoluteFilePath();
  if (settings_ != nullptr) {
    settings_->sync();  // another window may have added its own
    recent_ = settings_->value("files/recent").toStringList();
  }
  recent_.removeAll(whole);
  recent_.prepend(whole);
  while (recent_.size() > kMostRecent) recent_.removeLast();
  if (settings_ != nullptr) settings_->setValue("files/recent", recent_);
  emit recent_changed();
}

void WorkspaceDocument::forget_recent() {
  recent_.clear();
  if (settings_ != nullptr) settings_->setValue("files/recent", recent_);
  emit recent_changed();
}

void WorkspaceDocument::show_title() {
  QMainWindow& window = state_.parts().window;
  const QString title =
      path_.isEmpty() ? tr("Attnscope") : tr("%1[*] — Attnscope").arg(QFileInfo(path_).completeBaseName());
  if (window.windowTitle() != title) window.setWindowTitle(title);
  window.setWindowModified(is_modified());
}

}  // namespace attn::ui
