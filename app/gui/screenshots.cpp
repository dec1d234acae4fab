// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/screenshots.h"

#include "app/gui/screenshots_workspace.h"
#include "app/gui/stored_settings.h"
#include "app/gui/wait_for.h"
#include "app/gui/workbench.h"
#include "core/exchange/sdnext_config.h"
#include "ui/block_mask/block_mask_panel.h"
#include "ui/chain_bar/chain_bar.h"
#include "ui/chain_bar/history_popup.h"
#include "ui/compare/compare_desk.h"
#include "ui/compare/compare_page.h"
#include "ui/control_panel/control_panel.h"
#include "ui/control_panel/section.h"
#include "ui/export/export_dialog.h"
#include "ui/export/import_dialog.h"
#include "ui/levers/levers_page.h"
#include "ui/levers/tune_dialog.h"
#include "ui/main_window/main_window.h"
#include "ui/platform/platform_service.h"
#include "ui/policy/policy_service.h"
#include "ui/preview/picture_form.h"
#include "ui/preview/preview_panel.h"
#include "ui/route_table/route_panel.h"
#include "ui/sparse/sweep_page.h"
#include "ui/timeline/timeline_panel.h"
#include "ui/workload_panel/workload_panel.h"

#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSettings>
#include <QTabBar>
#include <QTableView>
#include <QTemporaryDir>
#include <cstdio>
#include <functional>

namespace attn::app {

namespace {

/// One window and the pictures of it.
class Session {
 public:
  Session(Workbench& bench, ui::Theme& theme, QString folder, QString suffix)
      : bench_(bench), window_(bench.services(), theme), folder_(std::move(folder)), suffix_(std::move(suffix)) {
    window_.arrange({1680, 1050});
    window_.show();
    settle();
  }

  bool take(QWidget& widget, const QString& name) {
    settle();
    const QString path = QDir(folder_).filePath(name + suffix_);
    if (widget.grab().save(path)) {
      std::printf("%s\n", qPrintable(path));
      return true;
    }
    std::fprintf(stderr, "cannot write %s\n", qPrintable(path));
    return false;
  }

  bool first_start() { return take(window_, "first-start"); }

  bool finished_run() {
    if (!override_with({"SDNQ attention", "Sage attention", "Flash attention"})) return false;
    if (!run(ui::Work::planned)) return false;
    select("vae");
    return take(window_, "window") && small() && large();
  }

  /// Timeline, groups, single calls and a wrong filter line, over a run whose sparse budget follows a schedule.
  bool tables() {
    const std::vector<std::pair<std::string, OptionValue>> settings{
        {"sparse_attention_enabled", true},
        {"sparse_attention_min_tokens", std::int64_t{4096}},
        {"sparse_attention_schedule_steps", std::int64_t{3}},
        {"sparse_attention_schedule_bump", std::int64_t{40}}};
    if (!override_with({"SDNQ attention", "Sage attention", "Flash attention"})) return false;
    if (!bench_.engine().set_all(settings)) return false;
    window_.workload().choose_model("flux.1-dev");
    if (!run(ui::Work::planned)) return false;
    auto* charts = window_.findChild<QTabBar*>("chart_tabs");
    auto* groups = window_.findChild<QComboBox*>("route_grouping");
    ui::RoutePanel& lists = window_.routes();
    window_.selection().choose_step(Role::transformer, 12, nullptr);
    if (!take(window_, "timeline")) return false;
    charts->setCurrentIndex(1);
    groups->setCurrentIndex(static_cast<int>(ui::Grouping::step));
    lists.view()->selectRow(2);
    if (!take(window_, "steps-grouped")) return false;
    groups->setCurrentIndex(static_cast<int>(ui::Grouping::none));
    charts->setCurrentIndex(0);
    lists.show_calls(true);
    lists.filter().set_line("role:transformer step:3..9");
    if (!wait_for([&] { return !lists.calls().model().is_busy(); })) return false;
    window_.timeline().view().zoom(0.1);
    lists.calls().view()->selectRow(60);
    if (!take(window_, "calls")) return false;
    lists.filter().set_line("role:transformer step:9..3");
    if (!take(window_, "filter-error")) return false;
    window_.arrange({1280, 720});
    const bool small = take(window_, "calls-1280x720");
    lists.filter().set_line({});
    lists.show_calls(false);
    window_.arrange({1680, 1050});
    return small && bench_.engine().set_all({{"sparse_attention_enabled", false}}).has_value();
  }

  bool pending() {
    // A small model, so that its steps are seen to move on any host.
    window_.workload().choose_model("sd-1.5");
    window_.workload().choose_work(ui::Work::all);
    window_.workload().set_input("width", 256);
    window_.workload().set_input("height", 256);
    window_.workload().run();
    const auto far_enough = [this] {
      for (const auto& share : bench_.services().trace.snapshot().shares) {
        if (share.role == Role::transformer && share.step >= 3) return true;
      }
      return !bench_.jobs().running();
    };
    if (!wait_for(far_enough)) return false;
    if (!override_with({"SDNQ attention", "Flash attention", "Flex attention"})) return false;
    if (!bench_.engine().set("sparse_attention_enabled", true)) return false;
    select("transformer");
    const bool taken = take(window_, "pending");
    window_.workload().stop();
    return wait_for([this] { return !bench_.jobs().running(); }) && taken;
  }

  /// The control panel with a preset that was changed since, a backend that is required, and what edits would do.
  bool panel() {
    window_.workload().choose_model("flux.1-dev");
    bench_.services().presets.choose("sparse 30 %");
    if (!wait_for([this] { return bench_.services().presets.state().chosen == "sparse 30 %"; })) return false;
    bench_.jobs().require({"sdnq"});
    if (!run(ui::Work::planned)) return false;
    if (!bench_.engine().set("sparse_attention_budget", std::int64_t{45})) return false;
    window_.workload().choose_work(ui::Work::all);
    window_.workload().run();
    if (!wait_for([this] { return bench_.services().trace.snapshot().calls > 12; })) return false;
    if (!override_with({"Sage attention", "Flash attention"})) return false;
    auto* moves = window_.findChild<QLabel*>("effect_moves");
    if (!wait_for([moves] { return moves->text().contains(QChar(0x2192)); })) return false;
    const bool taken = take(window_, "control-panel");
    window_.workload().stop();
    return wait_for([this] { return !bench_.jobs().running(); }) && taken;
  }

  /// The sparse side: a model whose sequence is long enough, its tiles before and after they are computed, a sweep.
  bool sparse() {
    const std::vector<std::pair<std::string, OptionValue>> settings{
        {"sparse_attention_enabled", true},
        {"sparse_attention_min_tokens", std::int64_t{4096}},
        {"sparse_attention_schedule_steps", std::int64_t{3}},
        {"sparse_attention_exclude", std::string("CosmosTransformer3DModel, anima, MyFineTune")}};
    if (!override_with({"SDNQ attention", "Flash attention"}) || !bench_.engine().set_all(settings)) return false;
    window_.workload().choose_model("flux.1-dev");
    // First as the defaults would have it: FLUX is shorter than the minimum, so nothing is served, and why.
    if (!bench_.engine().set("sparse_attention_min_tokens", std::int64_t{8192})) return false;
    if (!run(ui::Work::planned)) return false;
    select("transformer");
    scroll_to_sparse();
    if (!take(window_, "sparse-served-nothing")) return false;
    if (!bench_.engine().set_all(settings) || !run(ui::Work::planned)) return false;
    select("transformer");
    window_.show_block_mask();
    scroll_to_sparse();
    if (!take(window_, "block-mask-planned")) return false;
    auto* compute = window_.block_mask().findChild<QPushButton*>("mask_compute");
    compute->click();
    if (!wait_for([this] { return window_.block_mask().view().map().has_tiles(); })) return false;
    window_.show_sweep();
    window_.sweep().run();
    const auto& sweep = bench_.services().sparse.sweep_state();
    if (!wait_for([&] { return sweep.phase > ui::SweepState::Phase::running && !bench_.jobs().running(); }))
      return false;
    if (!take(window_, "sparse")) return false;
    window_.arrange({1280, 720});
    window_.show_block_mask();
    const bool small = take(window_, "sparse-1280x720");
    window_.arrange({1680, 1050});
    for (const char* tabs : {"chart_tabs", "route_tabs"}) window_.findChild<QTabBar*>(tabs)->setCurrentIndex(0);
    return small && bench_.engine().set_all({{"sparse_attention_enabled", false}}).has_value();
  }

  /// The bundled model: its form, a picture that forms, and one compared with a kept one.
  bool drawing() {
    if (!override_with({}) || !window_.workload().choose_model("shapes")) return false;
    if (!take(window_, "preview-first")) return false;
    if (!bench_.services().pictures.missing().isEmpty()) return true;  // which is what there is to see
    ui::PictureRequest request = bench_.services().pictures.defaults();
    request.prompt = "a large red circle left of a small blue star on a green background";
    request.seed = 7;
    window_.workload().form().set_request(request);
    window_.workload().run();
    const auto halfway = [this] {
      const ui::PreviewFrame frame = bench_.services().pictures.frame();
      return (frame.step > 0 && frame.step >= frame.steps / 2) || !bench_.jobs().running();
    };
    if (!wait_for(halfway) || !take(window_, "preview-drawing") || !drawn()) return false;
    window_.preview().keep_baseline();
    if (!override_with({"SDNQ attention"})) return false;
    request.steps = 10;
    window_.workload().form().set_request(request);
    window_.workload().run();
    if (!drawn()) return false;
    auto* modes = window_.preview().findChild<QTabBar*>("preview_modes");
    if (!wait_for([modes] { return modes->currentIndex() == 1; })) return false;
    if (!take(window_, "preview")) return false;
    window_.arrange({1280, 720});
    const bool small = take(window_, "preview-1280x720");
    window_.arrange({1680, 1050});
    modes->setCurrentIndex(2);
    const bool difference = take(window_.preview(), "preview-difference");
    window_.show_compare();
    return take(window_, "compare-picture") && small && difference;
  }

  bool exchange() {
    QTemporaryDir place;
    const QString file = place.filePath("config.json");
    if (!copy_of_defaults(file)) return false;
    ui::ExportDialog* dialog = window_.open_export();
    const auto shot = [&](const char* format, const QString& path, const QString& name) {
      bool seen = false;
      const auto connection = QObject::connect(
          &bench_.services().exports, &ui::ExportService::previewed,
          [&](const ui::ExportPreview& made) { seen = made.path == path && made.format->name == format; });
      dialog->choose_format(format);
      dialog->set_path(path);
      const bool shown = wait_for([&] { return seen; });
      QObject::disconnect(connection);
      return shown && take(*dialog, name);
    };
    const bool taken = shot("sdnext", file, "export") && shot("comfyui-sparse", {}, "export-sparse-node") &&
                       shot("diffusers", {}, "export-snippet");
    dialog->close();
    return taken && import_dialog(file);
  }

  /// attention_backend asked for all and by role, one of them rejected, and the calls that it bypasses.
  bool policy() {
    auto* rows = window_.control().findChild<QWidget*>("policy_rows");
    for (QWidget* at = rows; at != nullptr; at = at->parentWidget()) {
      if (auto* section = qobject_cast<ui::Section*>(at)) section->set_open(true);
    }
    AttentionChoices choices;
    choices.all = "cudnn";
    choices.per_role[Role::vae] = "sage";
    choices.strict[Role::vae] = false;
    if (!bench_.services().policy.choose(choices) || !run(ui::Work::planned)) return false;
    select("transformer");
    show(rows);
    const bool taken = take(window_, "policy");
    return bench_.services().policy.choose({}).has_value() && taken;
  }

  /// A card of which only the math kernel is said to run, a log of its server, and results that repeat.
  bool platform() {
    QTemporaryDir place;
    const QString log = place.filePath("server.log");
    if (!write_file(log,
                    "10:00:41 ERROR Install: package=\"flash-attn\" pip failed: building wheel for flash-attn: error\n"
                    "10:00:42 ERROR Torch attention: No module named 'flash_attn'\n")) {
      return false;
    }
    ui::PlatformService& service = bench_.services().platform;
    const ui::PlatformState& state = service.state();
    if (!override_with({"Flash attention"}) || !window_.workload().choose_model("sd-1.5")) return false;
    for (const char* side : {"width", "height"}) window_.workload().set_input(side, 64);
    window_.show_platform();
    if (!wait_for([&] { return state.kernels_asked; }) || !service.repeat()) return false;
    if (!wait_for([&] { return !state.repeating && !bench_.jobs().running(); })) return false;
    Quarantine quarantine;
    judge_accuracy(quarantine, "sage", bench_.engine().target(), 0.31, 0.99);
    bench_.engine().set_quarantine(quarantine);
    service.read_log(log);
    window_.workload().choose_model("flux.1-dev");
    for (const char* side : {"width", "height"}) window_.workload().set_input(side, 3072);
    service.state_math_only(true);
    if (!wait_for([&] { return !state.forecast.isEmpty() && !state.incidents.empty(); })) return false;
    if (!take(window_, "platform")) return false;
    show(window_.findChild<QWidget*>("platform_quarantine"));
    const bool taken = take(window_, "platform-below");
    service.state_math_only(false);
    bench_.engine().set_quarantine({});
    return taken && wait_for([&] { return state.quarantine.empty() && !state.math_only_stated; });
  }

  /// Every lever of a small job measured, and a choice among them.
  bool levers() {
    window_.workload().choose_model("sd-1.5");
    for (const char* side : {"width", "height"}) window_.workload().set_input(side, 128);
    window_.workload().set_input("steps", 4);
    window_.show_levers();
    auto& page = *window_.findChild<ui::LeversPage*>("levers_page");
    const ui::LeversState& state = bench_.services().levers.state();
    if (!wait_for([&] { return page.model().row_of("backend:sage") > 0; })) return false;
    page.findChild<QPushButton*>("levers_run")->click();
    const auto ended = [this](const ui::LeverPhase& phase) {
      return wait_for([&] { return phase > ui::LeverPhase::running && !bench_.jobs().running(); });
    };
    if (!ended(state.phase)) return false;
    page.table().selectRow(page.model().row_of("backend:sage"));
    if (!take(window_, "levers")) return false;
    window_.arrange({1280, 720});
    if (!take(window_, "levers-1280x720")) return false;
    window_.arrange({1680, 1050});
    page.model().tick({}, false);
    for (const char* group : {"baseline", "backend"}) page.model().tick(group, true);
    ui::TuneDialog* dialog = page.open_tune();
    dialog->findChild<QPushButton*>("tune_run")->click();
    const bool taken = ended(state.tune.phase) && take(*dialog, "tune");
    dialog->close();
    return taken;
  }

  /// Runs of one window: dense, stopped, and sparse against dense; the page, the table and the chart per step.
  bool compare() {
    window_.workload().choose_model("flux.1-dev");
    for (const char* side : {"width", "height"}) window_.workload().set_input(side, 512);
    window_.workload().set_input("steps", 12);
    if (!override_with({"Flash attention"}) || !run(ui::Work::representatives)) return false;
    window_.show_compare();
    if (!take(window_, "compare-first")) return false;
    if (!window_.compare().archive().keep(1)) return false;
    window_.workload().choose_work(ui::Work::all);
    window_.workload().run();
    if (!wait_for([this] { return bench_.services().trace.snapshot().calls > 30; })) return false;
    window_.workload().stop();
    if (!wait_for([this] { return !bench_.jobs().running(); })) return false;
    const std::vector<std::pair<std::string, OptionValue>> sparse{{"sparse_attention_enabled", true},
                                                                  {"sparse_attention_min_tokens", std::int64_t{1024}},
                                                                  {"sparse_attention_schedule_steps", std::int64_t{3}}};
    if (!override_with({"SDNQ attention", "Sage attention"}) || !bench_.engine().set_all(sparse)) return false;
    if (!run(ui::Work::representatives)) return false;
    select("transformer");
    if (!take(window_, "compare")) return false;
    auto* parts = window_.findChild<QTabBar*>("compare_tabs");
    for (const auto& [tab, name] :
         {std::pair{1, "compare-settings"}, std::pair{2, "compare-moved"}, std::pair{3, "compare-parts"}}) {
      parts->setCurrentIndex(tab);
      if (!take(window_, name)) return false;
    }
    parts->setCurrentIndex(0);
    window_.arrange({1280, 720});
    if (!take(window_, "compare-1280x720")) return false;
    window_.arrange({1680, 1050});
    window_.findChild<QAction*>("route.measure_error")->trigger();
    if (!wait_for([this] { return !bench_.jobs().running(); })) return false;
    window_.findChild<QTabBar*>("chart_tabs")->setCurrentIndex(0);
    if (!take(window_, "compare-timeline")) return false;
    window_.findChild<QTabBar*>("chart_tabs")->setCurrentIndex(1);
    if (!take(window_, "compare-steps")) return false;
    window_.routes().show_calls(true);
    if (!take(window_, "compare-calls")) return false;
    window_.arrange({1280, 720});
    if (!take(window_, "compare-calls-1280x720")) return false;
    window_.routes().show_calls(false);
    if (!take(window_, "compare-routes-1280x720")) return false;
    window_.arrange({1680, 1050});
    window_.findChild<QAction*>("chain.history")->trigger();
    auto* history = window_.findChild<ui::HistoryPopup*>("chain_history");
    const bool taken = take(*history, "chain-history");
    history->close();
    return taken && bench_.engine().set_all({{"sparse_attention_enabled", false}}).has_value();
  }

  /// Stored values that do not hold.
  bool stored() {
    QTemporaryDir place;
    const QString file = place.filePath("config.json");
    if (!write_file(file, "{\"sparse_attention_budget\": -1, \"sparse_attention_min_tokens\": \"many\"}\n"))
      return false;
    window_.show_stored(open_stored_settings(bench_.engine(), file));
    return take(window_, "stored-settings");
  }

  bool import_dialog(const QString& file) {
    ui::ImportDialog* dialog = window_.open_import();
    bool seen = false;
    const auto connection = QObject::connect(&bench_.services().exports, &ui::ExportService::import_previewed,
                                             [&](const ui::ImportPreview& made) { seen = made.path == file; });
    dialog->set_path(file);
    const bool taken = wait_for([&] { return seen; }) && take(*dialog, "import");
    QObject::disconnect(connection);
    dialog->close();
    return taken;
  }

 private:
  static bool write_file(const QString& path, const QByteArray& text) {
    QFile file(path);
    return file.open(QIODevice::WriteOnly) && file.write(text) == text.size();
  }

  /// Scrolls whatever holds a widget to it.
  static void show(QWidget* widget) {
    settle();
    for (QWidget* at = widget; at != nullptr; at = at->parentWidget()) {
      if (auto* area = qobject_cast<QScrollArea*>(at)) area->ensureWidgetVisible(widget, 0, 60);
    }
  }

  bool override_with(const OptionList& labels) {
    const Expected<bool> set = bench_.engine().set(keys::overrides, labels);
    if (!set) std::fprintf(stderr, "%s\n", set.error().c_str());
    return set.has_value();
  }

  bool run(ui::Work work) {
    window_.workload().choose_work(work);
    window_.workload().run();
    return wait_for([this] { return !bench_.jobs().running(); }) &&
           wait_for([this] { return window_.routes().model().rowCount() > 0; });
  }

  bool drawn() {
    return wait_for([this] { return !bench_.jobs().running() && window_.preview().picture().is_there(); });
  }

  void select(const QString& role) {
    settle();
    QTableView* view = window_.routes().view();
    for (int row = 0; row < view->model()->rowCount(); ++row) {
      if (view->model()->index(row, ui::RouteModel::role).data().toString() == role) {
        view->selectRow(row);
        return;
      }
    }
  }

  void scroll_to_sparse() { show(window_.control().findChild<QWidget*>("sparse_attention_exclude")); }

  bool small() {
    window_.arrange({1280, 720});
    const bool taken = take(window_, "window-1280x720");
    window_.arrange({1680, 1050});
    return taken;
  }

  bool large() {
    window_.arrange({3840, 2160});
    const bool taken = take(window_, "window-3840x2160");
    window_.arrange({1680, 1050});
    return taken;
  }

  /// A config.json as a person may have it: other keys around a chain of its own.
  static bool copy_of_defaults(const QString& path) {
    return write_file(path,
                      "{\n"
                      "  \"sd_model_checkpoint\": \"flux1-dev\",\n"
                      "  \"cuda_dtype\": \"BF16\",\n"
                      "  \"cross_attention_optimization\": \"Scaled-Dot-Product\",\n"
                      "  \"sdp_overrides\": [\"Dynamic attention\"],\n"
                      "  \"sdp_options\": [\"Flash\", \"Memory\", \"Math\"],\n"
                      "  \"samples_format\": \"jpg\"\n"
                      "}\n");
  }

  Workbench& bench_;
  ui::MainWindow window_;
  QString folder_;
  QString suffix_;
};

}  // namespace

int take_screenshots(const QString& folder, const QString& theme_name, int scale) {
  if (!QDir().mkpath(folder)) {
    std::fprintf(stderr, "cannot make the folder %s\n", qPrintable(folder));
    return 2;
  }
  ui::Theme theme;
  theme.choose(theme_name == "dark" ? ui::ThemeChoice::dark : ui::ThemeChoice::light);
  // A window each, so that none shows what another was set to.
  const auto in_new_window = [&](const std::function<bool(Session&)>& shots) {
    const Expected<std::unique_ptr<Workbench>> bench = Workbench::open();
    if (!bench) {
      std::fprintf(stderr, "%s\n", bench.error().c_str());
      return false;
    }
    Session session(**bench, theme, folder, QStringLiteral("-%1-%2x.png").arg(theme_name).arg(scale));
    return shots(session);
  };
  const bool done = in_new_window([](Session& session) { return session.compare(); }) &&
                    in_new_window([](Session& session) { return session.drawing(); }) &&
                    in_new_window([](Session& session) {
                      return session.first_start() && session.finished_run() && session.tables() && session.sparse() &&
                             session.exchange() && session.pending() && session.panel();
                    }) &&
                    in_new_window([](Session& session) {
                      return session.policy() && session.platform() && session.levers() && session.stored();
                    });
  const QString suffix = QStringLiteral("-%1-%2x.png").arg(theme_name).arg(scale);
  return done && take_workspace_screenshots(folder, suffix, theme) ? 0 : 1;
}

}  // namespace attn::app
