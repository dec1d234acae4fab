// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workload_panel/workload_panel.h"

#include "ui/format/format.h"
#include "ui/panel/elided_label.h"
#include "ui/panel/flow_layout.h"
#include "ui/panel/panel_title.h"
#include "ui/preview/picture_form.h"

#include <QComboBox>
#include <QCompleter>
#include <QDoubleSpinBox>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QResizeEvent>
#include <QScrollArea>
#include <QSettings>
#include <QToolButton>
#include <QVBoxLayout>

namespace attn::ui {

namespace {

/// As high as its form, and scrolled where the window has no room for that.
class FormArea final : public QScrollArea {
 public:
  FormArea(QWidget* form, QWidget* parent) : QScrollArea(parent) {
    setFrameShape(QFrame::NoFrame);
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFocusPolicy(Qt::NoFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Maximum);
    setWidget(form);
    form->installEventFilter(this);
  }
  [[nodiscard]] QSize sizeHint() const override { return {200, widget()->heightForWidth(viewport()->width())}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {100, std::min(sizeHint().height(), kLeast)}; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::LayoutRequest) updateGeometry();
    return QScrollArea::eventFilter(watched, event);
  }
  void resizeEvent(QResizeEvent* event) override {
    QScrollArea::resizeEvent(event);
    if (event->size().width() != event->oldSize().width()) updateGeometry();
  }

 private:
  static constexpr int kLeast = 84;
};

/// Inputs that people change every day; the others stand behind "More".
bool is_rare(const ModelInput& input) {
  static const QStringList kCommon{"width", "height", "steps", "batch"};
  return !(kCommon.contains(input.key) || (input.key == "frames" && input.value > 1.0));
}

}  // namespace

WorkloadPanel::WorkloadPanel(JobControl& jobs, const PreviewService& pictures, const Theme& theme, QWidget* parent)
    : QWidget(parent), jobs_(jobs), theme_(theme), form_(new PictureForm(pictures, theme, this)) {
  setObjectName("workload_panel");
  set_look(this, "panel");
  make_header();
  make_body();
  connect(&jobs_, &JobControl::started, this, [this](const QString& title) {
    last_ = {};
    bar_->setRange(0, 0);
    say(title, "dim");
    show_running(true);
  });
  connect(form_, &PictureForm::steps_changed, this, &WorkloadPanel::tell_workload);
  connect(&jobs_, &JobControl::progressed, this, &WorkloadPanel::show_progress);
  connect(&jobs_, &JobControl::ended, this, &WorkloadPanel::show_end);
  choose_model("flux.1-dev");
  show_inputs();
  show_running(false);
}

void WorkloadPanel::make_header() {
  header_ = new QWidget(this);
  auto* row = new QHBoxLayout(header_);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(8);
  run_ = new QPushButton(tr("Run"), header_);
  run_->setObjectName("run");
  run_->setToolTip(tr("Make every attention call of one generation of this model (Ctrl+R)"));
  set_look(run_, "primary");
  stop_ = new QPushButton(tr("Stop"), header_);
  stop_->setObjectName("stop");
  stop_->setToolTip(tr("Stop the running job between two calls (Esc)"));
  const auto icons = [this] {
    run_->setIcon(theme_.icon("run", run_->isEnabled() ? Ink::on_accent : Ink::faint));
    stop_->setIcon(theme_.icon("stop", Ink::text));
  };
  icons();
  connect(&theme_, &Theme::changed, this, icons);

  model_ = new QComboBox(header_);
  model_->setObjectName("model");
  model_->setAccessibleName(tr("Model"));
  model_->setToolTip(tr("The model whose attention calls are made. Type to find one."));
  model_->setEditable(true);
  model_->setInsertPolicy(QComboBox::NoInsert);
  model_->setMinimumWidth(230);
  model_->setMaxVisibleItems(24);
  for (const ModelInfo& info : jobs_.models()) model_->addItem(info.name, info.id);
  model_->completer()->setCompletionMode(QCompleter::PopupCompletion);
  model_->completer()->setFilterMode(Qt::MatchContains);
  model_->completer()->setCaseSensitivity(Qt::CaseInsensitive);
  // Text that is no model goes back to the one that is chosen.
  connect(model_->lineEdit(), &QLineEdit::editingFinished, this, [this] {
    const int typed = model_->findText(model_->currentText(), Qt::MatchFixedString);
    if (typed >= 0) model_->setCurrentIndex(typed);
    model_->setEditText(model_->itemText(model_->currentIndex()));
  });
  connect(model_, &QComboBox::currentIndexChanged, this, &WorkloadPanel::show_inputs);

  work_ = new QComboBox(header_);
  work_->setObjectName("work");
  work_->setAccessibleName(tr("How much is computed"));
  work_->addItem(tr("planned, routes only"), static_cast<int>(Work::planned));
  work_->addItem(tr("computed, one call per route"), static_cast<int>(Work::representatives));
  work_->addItem(tr("computed, every call"), static_cast<int>(Work::all));
  work_->addItem(tr("computed, every call, compiled"), static_cast<int>(Work::compiled));
  work_->setToolTip(
      tr("Planned routes every call without data, in milliseconds. Computed makes tensors and runs the\n"
         "kernels: one call of each distinct route, or every call, which takes as long as it takes. Compiled\n"
         "chooses routes once per call site, and a GPU records the calls of a step and runs them as one."));
  for (QWidget* widget : std::initializer_list<QWidget*>{run_, stop_, model_, work_}) row->addWidget(widget);
  connect(run_, &QPushButton::clicked, this, &WorkloadPanel::run);
  connect(stop_, &QPushButton::clicked, this, &WorkloadPanel::stop);
}

void WorkloadPanel::make_body() {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  title_ = new PanelTitle(tr("Workload"), theme_, this);
  column->addWidget(title_);
  auto* body = new QVBoxLayout;
  body->setContentsMargins(12, 8, 12, 8);
  body->setSpacing(8);
  flow_ = new FlowLayout(14, 6);
  form_area_ = new FormArea(form_, this);
  body->addWidget(form_area_);
  body->addLayout(flow_);
  more_ = new QToolButton(this);
  more_->setObjectName("more_inputs");
  more_->setCheckable(true);
  more_->setFocusPolicy(Qt::StrongFocus);
  more_->setFixedHeight(24);
  set_look(more_, "dim");
  connect(more_, &QToolButton::toggled, this, &WorkloadPanel::show_more);
  bar_ = new QProgressBar(this);
  bar_->setTextVisible(false);
  bar_->setRange(0, 1);
  bar_->setAccessibleName(tr("Progress"));
  state_ = new ElidedLabel(this);
  state_->setObjectName("run_state");
  progress_ = new QBoxLayout(QBoxLayout::TopToBottom);
  progress_->setSpacing(8);
  progress_->addWidget(bar_, 2);
  progress_->addWidget(state_, 3);
  body->addLayout(progress_);
  column->addLayout(body);
}

void WorkloadPanel::set_compact(bool compact) {
  title_->setVisible(!compact);
  progress_->setDirection(compact ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
  progress_->setSpacing(compact ? 12 : 8);
}

const ModelInfo* WorkloadPanel::model() const {
  const auto at = static_cast<std::size_t>(model_->currentIndex());
  return model_->currentIndex() >= 0 && at < jobs_.models().size() ? &jobs_.models()[at] : nullptr;
}

bool WorkloadPanel::draws() const { return model() != nullptr && model()->draws; }

void WorkloadPanel::show_inputs() {
  const ModelInfo* info = model();
  for (const Input& input : inputs_) delete input.cell;
  inputs_.clear();
  flow_->removeWidget(more_);
  if (!jobs_.running()) {
    bar_->setRange(0, 1);
    bar_->setValue(0);
    say(info == nullptr ? tr("No model profile was found.")
        : info->draws   ? tr("Ready. Run draws the picture, every attention call through the chain.")
                        : tr("Ready. Run plans every call of one generation."),
        "dim");
  }
  if (info == nullptr) return;
  // The common ones first, in the order people say them.
  std::vector<ModelInput> ordered = info->inputs;
  const auto rank = [](const ModelInput& input) {
    static const QStringList kOrder{"width", "height", "frames", "steps", "batch", "cfg"};
    const qsizetype at = kOrder.indexOf(input.key);
    return (is_rare(input) ? 100 : 0) + (at < 0 ? 50 : static_cast<int>(at));
  };
  std::stable_sort(ordered.begin(), ordered.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  bool more_placed = false;
  for (const ModelInput& input : ordered) {
    if (is_rare(input) && !more_placed) {
      flow_->addWidget(more_);
      more_placed = true;
    }
    auto* cell = new QWidget(this);
    auto* row = new QHBoxLayout(cell);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(6);
    auto* spin = new QDoubleSpinBox(cell);
    spin->setObjectName("input_" + input.key);
    spin->setDecimals(input.whole ? 0 : 3);
    spin->setRange(input.minimum, 1e6);
    const bool pixels = input.unit == "px";
    spin->setSingleStep(pixels ? 64 : 1);
    if (input.key == "cfg") spin->setMaximum(1);
    spin->setValue(input.value);
    spin->setAlignment(Qt::AlignRight);
    spin->setFixedWidth(pixels ? 74 : 62);
    spin->setAccessibleName(input.label);
    spin->setToolTip(QStringLiteral("<p><b>%1</b></p><p>%2</p><p>Default: %3 %4</p>")
                         .arg(input.label.toHtmlEscaped(), input.help.toHtmlEscaped(), QString::number(input.value),
                              input.unit.toHtmlEscaped()));
    auto* label = new QLabel(input.label, cell);
    label->setBuddy(spin);
    set_look(label, "dim");
    row->addWidget(label);
    row->addWidget(spin);
    flow_->addWidget(cell);
    connect(spin, &QDoubleSpinBox::valueChanged, this, &WorkloadPanel::tell_workload);
    inputs_.push_back({input.key, cell, spin, input.value, is_rare(input)});
  }
  more_->setVisible(more_placed);
  form_area_->setVisible(draws());
  work_->setVisible(!draws());
  show_more(more_->isChecked());
  tell_workload();
}

void WorkloadPanel::tell_workload() {
  const RunRequest wanted = request();
  const auto steps = wanted.inputs.find("steps");
  if (draws()) return emit workload_changed(wanted.model, form_->steps());
  emit workload_changed(wanted.model, steps == wanted.inputs.end() ? 0 : static_cast<int>(steps->second));
}

void WorkloadPanel::show_more(bool more) {
  int rare = 0;
  for (const Input& input : inputs_) {
    if (!input.rare) continue;
    ++rare;
    input.cell->setVisible(more);
  }
  more_->setText(more ? tr("Fewer") : tr("%1 more").arg(rare));
  more_->setToolTip(more ? tr("Hide the inputs that rarely change") : tr("Show the inputs that rarely change"));
  updateGeometry();
}

bool WorkloadPanel::choose_model(const QString& id) {
  const int at = model_->findData(id);
  if (at < 0) return false;
  model_->setCurrentIndex(at);
  return true;
}

void WorkloadPanel::choose_work(Work work) { work_->setCurrentIndex(work_->findData(static_cast<int>(work))); }

bool WorkloadPanel::set_input(const QString& key, double value) {
  for (const Input& input : inputs_) {
    if (input.key != key) continue;
    input.spin->setValue(value);
    return true;
  }
  return false;
}

RunRequest WorkloadPanel::request() const {
  RunRequest request;
  if (const ModelInfo* info = model()) request.model = info->id;
  for (const Input& input : inputs_) request.inputs[input.key] = input.spin->value();
  if (draws()) request.picture = form_->request();
  request.work = static_cast<Work>(work_->currentData().toInt());
  return request;
}

void WorkloadPanel::run() {
  if (jobs_.running() || model() == nullptr) return;
  if (draws()) form_->draw_seed();
  start(request());
}

void WorkloadPanel::run_tensors(const QString& path) {
  RunRequest wanted;
  wanted.model = QFileInfo(path).fileName();
  wanted.work = Work::all;
  wanted.tensors = path;
  start(wanted);
}

void WorkloadPanel::start(const RunRequest& wanted) {
  const Expected<void> started = jobs_.run(wanted);
  if (!started) return say(text_of(started.error()), "bad");
  emit run_started(wanted);
}

void WorkloadPanel::stop() {
  if (!jobs_.running()) return;
  stop_->setEnabled(false);
  jobs_.stop();
}

void WorkloadPanel::show_running(bool running) {
  run_->setEnabled(!running && !jobs_.models().empty());
  run_->setIcon(theme_.icon("run", run_->isEnabled() ? Ink::on_accent : Ink::faint));
  stop_->setEnabled(running);
  model_->setEnabled(!running);
  work_->setEnabled(!running);
  form_->setEnabled(!running);
  for (const Input& input : inputs_) input.spin->setEnabled(!running);
  emit ran(running);
}

void WorkloadPanel::show_progress(const RunProgress& progress) {
  last_ = progress;
  // Thousandths: a video model's calls times anything would leave an int.
  bar_->setRange(0, 1000);
  bar_->setValue(progress.calls_total > 0 ? static_cast<int>(1000 * progress.calls_done / progress.calls_total) : 0);
  const double speed =
      progress.elapsed_seconds > 0.0 ? static_cast<double>(progress.calls_done) / progress.elapsed_seconds : 0.0;
  QStringList facts;
  facts << tr("%1 of %2").arg(count_text(progress.calls_done), counted(progress.calls_total, progress.noun));
  if (progress.role == Role::transformer && progress.steps > 0) {
    facts << tr("step %1 of %2").arg(progress.step + 1).arg(progress.steps);
  } else if (progress.role != Role::none) {
    facts << text_of(name_of(progress.role));
  }
  if (progress.noun == RunProgress().noun) facts << tr("%1 calls/s").arg(count_text(qRound64(speed)));
  if (progress.seconds_left) facts << tr("%1 left").arg(seconds_text(*progress.seconds_left));
  say(facts.join(" · "), "dim");
  emit progressed(progress, speed);
}

void WorkloadPanel::show_end(const RunEnd& end) {
  bar_->setRange(0, 1000);
  switch (end.outcome) {
    case RunEnd::Outcome::finished:
      bar_->setValue(1000);
      say(tr("Finished: %1 in %2").arg(counted(last_.calls_done, last_.noun), seconds_text(end.seconds)), "dim");
      break;
    case RunEnd::Outcome::stopped:
      say(tr("Stopped after %1 of %2, %3")
              .arg(count_text(last_.calls_done), counted(last_.calls_total, last_.noun), seconds_text(end.seconds)),
          "pending");
      break;
    case RunEnd::Outcome::failed:
      say(tr("Failed: %1").arg(end.error), "bad");
      break;
  }
  show_running(false);
}

void WorkloadPanel::say(const QString& text, const char* look) {
  state_->setText(text);
  if (state_->property("look").toString() != QLatin1String(look)) set_look(state_, look);
}

void WorkloadPanel::save(QSettings& settings) const {
  settings.setValue("workload/model", model_->currentData());
  settings.setValue("workload/work", work_->currentData());
  settings.setValue("workload/more", more_->isChecked());
  form_->save(settings);
}

void WorkloadPanel::restore(const QSettings& settings) {
  choose_model(settings.value("workload/model").toString());
  const int work = work_->findData(settings.value("workload/work", 0).toInt());
  if (work >= 0) work_->setCurrentIndex(work);
  more_->setChecked(settings.value("workload/more", false).toBool());
  form_->restore(settings);
}

}  // namespace attn::ui
