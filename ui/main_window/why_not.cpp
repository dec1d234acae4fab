// SPDX-License-Identifier: GPL-3.0-or-later
// Why a command cannot be started now: one place for all that can be disabled. A test asks it in every state.
#include "ui/compare/compare_desk.h"
#include "ui/main_window/main_window.h"

namespace attn::ui {

void MainWindow::explain_commands() {
  using WhyNot = std::function<QString()>;
  const auto says = [](const QString& sentence) -> WhyNot { return [sentence] { return sentence; }; };
  const WhyNot no_run = [this] {
    return services_.jobs.running() ? tr("no run has ended yet; one is under way") : tr("no run has ended yet");
  };
  const WhyNot not_two = [this, no_run] {
    const RunArchive& archive = compare_->archive();
    if (archive.newest() == nullptr) return no_run();
    return archive.baseline() ? tr("the selected run is the baseline; select another one") : tr("no baseline is kept");
  };
  const WhyNot no_baseline = says(tr("no baseline is kept"));
  const WhyNot not_measured = [this] {
    if (services_.jobs.running()) return tr("a job is running");
    return selection_.route() ? tr("the run in view has no settings to measure with") : tr("no route is selected");
  };
  const WhyNot no_file = says(tr("no file was opened yet"));
  const std::pair<const char*, WhyNot> reasons[] = {
      {"file.recent.forget", no_file},
      {"edit.undo", says(tr("no setting was changed"))},
      {"edit.redo", says(tr("nothing was undone"))},
      {"selection.back", says(tr("nothing was selected before"))},
      {"selection.forward", says(tr("nothing was selected after"))},
      {"run.start", says(tr("a job is running"))},
      {"run.stop", says(tr("no job is running"))},
      {"chain.revert", says(tr("no edit waits for the end of a job"))},
      {"compare.keep_baseline", no_run},
      {"compare.keep_selected",
       [this, no_run] {
         return compare_->archive().newest() ? tr("the selected run is the baseline already") : no_run();
       }},
      {"compare.drop_baseline", no_baseline},
      {"compare.copy_report", not_two},
      {"compare.copy_csv", not_two},
      {"route.measure_error", not_measured},
  };
  for (const auto& [id, why_not] : reasons) commands_.explain(id, why_not);
  for (const QAction* action : recent_) commands_.explain(action->objectName(), no_file);
  for (const QAction* action : compare_->run_actions()) commands_.explain(action->objectName(), no_run);
  for (int slot = 1; slot <= LayoutSlots::kCount; ++slot) {
    commands_.explain(QStringLiteral("layout.slot%1.load").arg(slot), says(tr("nothing was kept in this slot")));
  }
}

}  // namespace attn::ui
