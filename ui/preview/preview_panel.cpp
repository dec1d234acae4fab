// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/preview/preview_panel.h"

#include "ui/format/format.h"
#include "ui/panel/flow_layout.h"
#include "ui/panel/text_line.h"
#include "ui/preview/picture_view.h"

#include <QDragEnterEvent>
#include <QFileDialog>
#include <QLabel>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QTabBar>
#include <QVBoxLayout>
#include <cmath>

namespace attn::ui {

namespace {

QString dropped_file(const QMimeData* data) {
  if (data == nullptr || !data->hasUrls() || data->urls().size() != 1) return {};
  const QString path = data->urls().front().toLocalFile();
  return path.endsWith(".png", Qt::CaseInsensitive) ? path : QString();
}

QString size_text(const QImage& image) { return QStringLiteral("%1 × %2").arg(image.width()).arg(image.height()); }

/// What made a picture, in one line.
QString facts_of(const MadePicture& made) {
  QStringList facts{size_text(made.image)};
  facts << (made.request.steps == 1 ? PreviewPanel::tr("1 step")
                                    : PreviewPanel::tr("%1 steps").arg(made.request.steps));
  if (made.request.second) facts << PreviewPanel::tr("then %1").arg(made.request.second->steps);
  if (made.seconds_per_step > 0.0) facts << PreviewPanel::tr("%1 a step").arg(seconds_text(made.seconds_per_step));
  if (made.seconds > 0.0) facts << PreviewPanel::tr("%1 in all").arg(seconds_text(made.seconds));
  facts << PreviewPanel::tr("seed %1").arg(made.request.seed);
  for (QString& fact : facts) fact.replace(' ', QChar::Nbsp);
  return facts.join(" · ");
}

}  // namespace

PreviewPanel::PreviewPanel(PreviewService& service, JobControl& jobs, const Theme& theme, QWidget* parent)
    : QWidget(parent), service_(service), jobs_(jobs), theme_(theme) {
  setObjectName("preview_panel");
  set_look(this, "panel");
  setAcceptDrops(true);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  stack_ = new QStackedWidget(this);
  stack_->addWidget(make_empty(stack_));
  stack_->addWidget(make_body(stack_));
  outer->addWidget(stack_);
  connect(&jobs_, &JobControl::started, this, &PreviewPanel::begin);
  connect(&jobs_, &JobControl::ended, this, &PreviewPanel::take_end);
  connect(&service_, &PreviewService::frame_changed, this, &PreviewPanel::take_frame);
  connect(&service_, &PreviewService::saved, this, &PreviewPanel::take_saved);
  connect(&service_, &PreviewService::opened, this, &PreviewPanel::take_opened);
  connect(&service_, &PreviewService::compared, this, &PreviewPanel::take_comparison);
  refresh();
}

QPushButton* PreviewPanel::button(const QString& text, const char* name, const QString& tip, QWidget* parent) {
  auto* made = new QPushButton(text, parent);
  made->setObjectName(name);
  made->setToolTip(tip);
  return made;
}

QWidget* PreviewPanel::make_empty(QWidget* parent) {
  auto* page = new QWidget(parent);
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(24, 16, 24, 16);
  column->setSpacing(6);
  column->addStretch(2);
  auto* headline = text_line("preview_headline", "title", page);
  headline->setText(tr("No picture yet"));
  headline->setAlignment(Qt::AlignCenter);
  advice_ = text_line("preview_advice", "dim", page);
  advice_->setAlignment(Qt::AlignCenter);
  column->addWidget(headline);
  column->addWidget(advice_);
  open_first_ = button(tr("Open a picture…"), "preview_open_first",
                       tr("Take the settings out of a PNG that was saved here or by attnctl generate"), page);
  column->addSpacing(6);
  column->addWidget(open_first_, 0, Qt::AlignHCenter);
  column->addStretch(3);
  connect(open_first_, &QPushButton::clicked, this, &PreviewPanel::choose_file);
  return page;
}

QWidget* PreviewPanel::make_body(QWidget* parent) {
  auto* page = new QWidget(parent);
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(0, 0, 0, 10);
  column->setSpacing(8);
  view_ = new PictureView(theme_, page);
  column->addWidget(view_, 1);
  auto* below = new QVBoxLayout;
  below->setContentsMargins(12, 0, 12, 0);
  below->setSpacing(8);
  bar_ = new QProgressBar(page);
  bar_->setTextVisible(false);
  bar_->setAccessibleName(tr("Progress of the picture"));
  state_ = text_line("preview_state", "dim", page);
  below->addWidget(bar_);
  below->addWidget(state_);
  below->addWidget(make_comparison(page));
  auto* buttons = new FlowLayout(8, 6);
  keep_ = button(tr("Keep as baseline"), "preview_keep",
                 tr("Keep this picture and its settings; the next one is compared with it, with the same seed"), page);
  save_ = button(tr("Save…"), "preview_save", tr("Write a PNG that holds its settings too"), page);
  open_ = button(tr("Open…"), "preview_open",
                 tr("Show a PNG that was saved here or by attnctl generate, and take its settings back"), page);
  for (QPushButton* one : {keep_, save_, open_}) buttons->addWidget(one);
  below->addLayout(buttons);
  column->addLayout(below);
  connect(keep_, &QPushButton::clicked, this, &PreviewPanel::keep_baseline);
  connect(save_, &QPushButton::clicked, this, &PreviewPanel::choose_target_file);
  connect(open_, &QPushButton::clicked, this, &PreviewPanel::choose_file);
  return page;
}

QWidget* PreviewPanel::make_comparison(QWidget* parent) {
  comparison_ = new QWidget(parent);
  auto* column = new QVBoxLayout(comparison_);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(4);
  modes_ = new QTabBar(comparison_);
  modes_->setObjectName("preview_modes");
  modes_->setAccessibleName(tr("How picture and baseline are shown"));
  modes_->setExpanding(true);
  modes_->setDrawBase(false);
  for (const QString& name : {tr("Picture"), tr("Slider"), tr("Difference")}) modes_->addTab(name);
  numbers_ = text_line("preview_numbers", "title", comparison_);
  changes_ = text_line("preview_changes", "dim", comparison_);
  column->addWidget(modes_);
  column->addWidget(numbers_);
  column->addWidget(changes_);
  connect(modes_, &QTabBar::currentChanged, this,
          [this](int at) { view_->set_mode(static_cast<PictureView::Mode>(at)); });
  return comparison_;
}

void PreviewPanel::begin(const QString&) {
  // Whether this job draws is known with its first frame; until then the last picture stays.
  drawing_ = false;
  refresh();
}

void PreviewPanel::take_frame() {
  const PreviewFrame frame = service_.frame();
  last_ = frame;
  drawing_ = !frame.finished;
  stack_->setCurrentIndex(1);
  if (frame.finished) {
    show_picture(frame.made);
    return;
  }
  picture_ = {};
  modes_->setCurrentIndex(0);
  view_->set_picture(frame.made.image);
  bar_->setRange(0, frame.steps);
  bar_->setValue(frame.step);
  QStringList facts;
  if (frame.pass > 0) facts << tr("high-resolution pass");
  facts << tr("step %1 of %2").arg(frame.step).arg(frame.steps);
  if (frame.step > 0) facts << tr("%1 a step").arg(seconds_text(frame.step_seconds));
  if (frame.seconds_left) facts << tr("%1 left").arg(seconds_text(*frame.seconds_left));
  say(frame.step == 0 ? tr("Reading the model…") : facts.join(" · "));
  refresh();
}

void PreviewPanel::show_picture(const MadePicture& made) {
  picture_ = made;
  stack_->setCurrentIndex(1);
  view_->set_picture(made.image);
  bar_->setRange(0, 1);
  bar_->setValue(1);
  say(facts_of(made));
  refresh();
  compare();
}

void PreviewPanel::take_end(const RunEnd& end) {
  if (drawing_ && end.outcome == RunEnd::Outcome::stopped) {
    say(tr("Stopped at step %1 of %2").arg(last_.step).arg(last_.steps), "pending");
  } else if (drawing_ && end.outcome == RunEnd::Outcome::failed) {
    say(tr("Failed: %1").arg(end.error), "bad");
  }
  drawing_ = false;
  refresh();
}

void PreviewPanel::keep_baseline() {
  if (!picture_.is_there()) return;
  baseline_ = picture_;
  view_->set_baseline(baseline_.image);
  emit baseline_kept();
  compare();
  refresh();
}

void PreviewPanel::show_baseline(const MadePicture& baseline) {
  if (baseline.image.cacheKey() == baseline_.image.cacheKey()) return;
  baseline_ = baseline;
  view_->set_baseline(baseline_.image);
  compare();
  refresh();
}

void PreviewPanel::compare() {
  view_->set_difference({}, {});
  modes_->setTabEnabled(2, false);
  if (!baseline_.is_there() || !picture_.is_there()) return;
  service_.compare(baseline_, picture_, this);
}

void PreviewPanel::take_comparison(const PictureComparison& comparison) {
  if (comparison.asker != this) return;
  const bool same = comparison.changes.isEmpty();
  changes_->setText(same ? tr("The same settings as the baseline.") : comparison.changes.join("\n"));
  if (!comparison.problem.isEmpty()) {
    numbers_->setText(comparison.problem);
  } else if (std::isinf(comparison.psnr)) {
    numbers_->setText(tr("Equal to the baseline, bit for bit"));
  } else {
    numbers_->setText(tr("PSNR %1 dB · SSIM %2 · Δ up to %3")
                          .arg(comparison.psnr, 0, 'f', 1)
                          .arg(comparison.ssim, 0, 'f', 4)
                          .arg(comparison.largest));
  }
  modes_->setTabEnabled(2, !comparison.difference.isNull());
  view_->set_difference(comparison.difference, QStringLiteral("× %1").arg(comparison.gain));
  // The picture that was just kept has nothing to be compared with yet.
  if (!std::isinf(comparison.psnr) && modes_->currentIndex() == 0) modes_->setCurrentIndex(1);
  refresh();
}

void PreviewPanel::refresh() {
  const QString missing = service_.missing();
  advice_->setText(!missing.isEmpty()
                       ? missing
                       : tr("Choose the model Shapes, write a prompt and press Run: the picture forms here, step by "
                            "step, while its attention calls are traced."));
  const bool idle = !jobs_.running();
  const bool there = picture_.is_there();
  keep_->setEnabled(there && idle);
  save_->setEnabled(there && idle);
  open_->setEnabled(idle);
  open_first_->setEnabled(idle);
  bar_->setVisible(drawing_);
  comparison_->setVisible(baseline_.is_there() && there);
  if (!comparison_->isVisibleTo(this)) view_->set_mode(PictureView::Mode::picture);
}

void PreviewPanel::say(const QString& text, const char* look) {
  state_->setText(text);
  if (state_->property("look").toString() != QLatin1String(look)) set_look(state_, look);
}

QString PreviewPanel::default_file() const { return QStringLiteral("shapes-%1.png").arg(picture_.request.seed); }

void PreviewPanel::choose_target_file() {
  auto* dialog = new QFileDialog(this, tr("Save the picture"), {}, tr("Pictures (*.png)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setDefaultSuffix("png");
  dialog->selectFile(default_file());
  connect(dialog, &QFileDialog::fileSelected, this, &PreviewPanel::save_as);
  dialog->open();
}

void PreviewPanel::choose_file() {
  auto* dialog = new QFileDialog(this, tr("Open a picture"), {}, tr("Pictures (*.png)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::ExistingFile);
  connect(dialog, &QFileDialog::fileSelected, this, &PreviewPanel::open_file);
  dialog->open();
}

void PreviewPanel::save_as(const QString& path) {
  if (picture_.is_there()) service_.save(path, picture_);
}

void PreviewPanel::open_file(const QString& path) {
  if (!jobs_.running()) service_.open(path);
}

void PreviewPanel::take_saved(const SavedPicture& result) {
  if (result.error.isEmpty()) {
    say(tr("Saved with its settings: %1").arg(result.path), "ok");
  } else {
    say(result.error, "bad");
  }
}

void PreviewPanel::take_opened(const OpenedPicture& result) {
  if (!result.error.isEmpty()) {
    if (stack_->currentIndex() == 0) {
      advice_->setText(result.error);
    } else {
      say(result.error, "bad");
    }
    return;
  }
  if (jobs_.running()) return;  // one was started meanwhile; its settings are not to be touched
  show_picture(result.made);
  say(tr("Opened, settings restored: %1").arg(facts_of(result.made)));
  emit settings_opened(result.made);
}

void PreviewPanel::dragEnterEvent(QDragEnterEvent* event) {
  if (!jobs_.running() && !dropped_file(event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void PreviewPanel::dropEvent(QDropEvent* event) {
  const QString path = dropped_file(event->mimeData());
  if (path.isEmpty()) return;
  event->acceptProposedAction();
  open_file(path);
}

}  // namespace attn::ui
