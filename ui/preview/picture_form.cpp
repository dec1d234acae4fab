// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/preview/picture_form.h"

#include "ui/panel/flow_layout.h"
#include "ui/preview/prompt_edit.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QRandomGenerator>
#include <QRegularExpressionValidator>
#include <QSettings>
#include <QSignalBlocker>
#include <QToolButton>
#include <QVBoxLayout>
#include <array>

namespace attn::ui {

namespace {

constexpr int kSmallest = 64;
constexpr int kLargest = 512;
constexpr int kMultiple = 8;
constexpr int kMostSteps = 1000;
constexpr int kRow = 27;  // of every cell, so that a line of them stands on one line
constexpr std::array kDtypes{DType::float32, DType::float16, DType::bfloat16};
constexpr const char* kFirstPrompt = "a large red circle left of a small blue star on a green background";

}  // namespace

PictureForm::PictureForm(const PreviewService& service, const Theme& theme, QWidget* parent)
    : QWidget(parent), service_(service), theme_(theme) {
  setObjectName("picture_form");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(6);
  make_prompt();
  column->addWidget(prompt_);
  column->addWidget(problem_);
  flow_ = new FlowLayout(14, 6);
  column->addLayout(flow_);
  make_common();
  make_second();
  make_rare();
  PictureRequest first = service_.defaults();
  first.prompt = QString::fromLatin1(kFirstPrompt);
  set_request(first);
  show_more(false);
  check_prompt();
}

void PictureForm::make_prompt() {
  prompt_ = new PromptEdit(service_.words(), theme_, this);
  prompt_->setObjectName("prompt");
  prompt_->setAccessibleName(tr("Prompt"));
  prompt_->setPlaceholderText(tr("What to draw, in the model's words"));
  prompt_->setToolTip(tr("What to draw. The model's words are offered while you type (Ctrl+Space shows them)."));
  problem_ = new QLabel(this);
  problem_->setObjectName("prompt_problem");
  problem_->setWordWrap(true);
  set_look(problem_, "bad");
  connect(prompt_, &PromptEdit::edited, this, &PictureForm::check_prompt);
}

void PictureForm::check_prompt() {
  QString problem = service_.missing();
  if (problem.isEmpty()) problem = service_.prompt_problem(prompt_->settled_prompt());
  if (problem.isEmpty() && negative_ != nullptr) {
    const QString negative = service_.prompt_problem(negative_->text());
    if (!negative.isEmpty()) problem = tr("Negative prompt: %1").arg(negative);
  }
  problem_->setText(problem);
  problem_->setVisible(!problem.isEmpty());
  updateGeometry();
}

QWidget* PictureForm::cell(const QString& label, QWidget* field) {
  auto* made = new QWidget(this);
  made->setFixedHeight(kRow);
  auto* row = new QHBoxLayout(made);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(6);
  if (!label.isEmpty()) {
    auto* text = new QLabel(label, made);
    text->setBuddy(field);
    set_look(text, "dim");
    row->addWidget(text);
  }
  row->addWidget(field);
  flow_->addWidget(made);
  return made;
}

QWidget* PictureForm::size_cell(const QString& label, QSpinBox* width, QSpinBox* height) {
  QWidget* made = cell(label, width);
  auto* times = new QLabel(QStringLiteral("×"), made);
  set_look(times, "dim");
  made->layout()->addWidget(times);
  made->layout()->addWidget(height);
  return made;
}

QSpinBox* PictureForm::number(const char* name, const QString& label, int low, int high, int step, const QString& tip) {
  auto* spin = new QSpinBox(this);
  spin->setObjectName(name);
  spin->setAccessibleName(label);
  spin->setRange(low, high);
  spin->setSingleStep(step);
  spin->setAlignment(Qt::AlignRight);
  spin->setFixedWidth(58);
  spin->setToolTip(tip);
  if (step == kMultiple) {  // sizes go in whole patches
    connect(spin, &QSpinBox::editingFinished, spin,
            [spin] { spin->setValue((spin->value() + kMultiple / 2) / kMultiple * kMultiple); });
  }
  return spin;
}

QDoubleSpinBox* PictureForm::real(const char* name, const QString& label, double low, double high, double step,
                                  const QString& tip) {
  auto* spin = new QDoubleSpinBox(this);
  spin->setObjectName(name);
  spin->setAccessibleName(label);
  spin->setDecimals(2);
  spin->setRange(low, high);
  spin->setSingleStep(step);
  spin->setAlignment(Qt::AlignRight);
  spin->setFixedWidth(66);
  spin->setToolTip(tip);
  return spin;
}

QComboBox* PictureForm::choice(const char* name, const QString& label, const QStringList& texts, const QString& tip) {
  auto* box = new QComboBox(this);
  box->setObjectName(name);
  box->setAccessibleName(label);
  box->addItems(texts);
  box->setToolTip(tip);
  set_look(box, "compact");
  return box;
}

void PictureForm::make_common() {
  const QString side = tr("64 to 512 pixels in multiples of 8");
  width_ = number("picture_width", tr("Width"), kSmallest, kLargest, kMultiple, side);
  height_ = number("picture_height", tr("Height"), kSmallest, kLargest, kMultiple, side);
  steps_ = number("picture_steps", tr("Steps"), 1, kMostSteps, 1, tr("Denoising steps"));
  guidance_ = real("picture_guidance", tr("Guidance"), 1.0, 30.0, 0.5,
                   tr("How much the prompt counts. At 1 the prompt alone is computed, in half of the time."));
  seed_ = new QLineEdit(this);
  seed_->setObjectName("picture_seed");
  seed_->setAccessibleName(tr("Seed"));
  seed_->setToolTip(tr("Of the noise. The same seed and settings give the same picture, bit for bit."));
  seed_->setValidator(new QRegularExpressionValidator(QRegularExpression("[0-9]{1,20}"), seed_));
  seed_->setFixedWidth(90);
  random_ = new QCheckBox(tr("random"), this);
  random_->setObjectName("picture_random");
  random_->setToolTip(tr("Draw another seed for every run; the one that was used is shown"));
  connect(random_, &QCheckBox::toggled, this, [this](bool on) { seed_->setReadOnly(on); });
  size_cell(tr("Size"), width_, height_);
  cell(tr("Steps"), steps_);
  cell(tr("Guidance"), guidance_);
  auto* seed = cell(tr("Seed"), seed_);
  seed->layout()->addWidget(random_);
  connect(steps_, &QSpinBox::valueChanged, this, &PictureForm::steps_changed);
}

void PictureForm::make_second() {
  second_ = new QCheckBox(tr("High-resolution pass"), this);
  second_->setObjectName("picture_second");
  second_->setToolTip(tr("Draw again at a larger size, starting from the first picture with noise put back"));
  const QString side = tr("Not smaller than the first pass; 64 to 512 pixels in multiples of 8");
  second_width_ = number("second_width", tr("Width of the high-resolution pass"), kSmallest, kLargest, kMultiple, side);
  second_height_ =
      number("second_height", tr("Height of the high-resolution pass"), kSmallest, kLargest, kMultiple, side);
  second_steps_ = number("second_steps", tr("Steps of the high-resolution pass"), 1, kMostSteps, 1,
                         tr("Denoising steps of the high-resolution pass"));
  strength_ = real("second_strength", tr("Strength of the high-resolution pass"), 0.05, 1.0, 0.05,
                   tr("Share of the noise that is put back: low keeps the first picture, 1 forgets it"));
  upscale_ = choice("second_upscale", tr("What is enlarged"), {tr("latent"), tr("image")},
                    tr("Latent: quick and softer. Image: decoded, enlarged bicubically and encoded again."));
  cell({}, second_);
  second_cells_ = {size_cell(tr("to"), second_width_, second_height_), cell(tr("steps"), second_steps_),
                   cell(tr("strength"), strength_), cell(tr("enlarge"), upscale_)};
  connect(second_, &QCheckBox::toggled, this, &PictureForm::show_second);
}

void PictureForm::make_rare() {
  more_ = new QToolButton(this);
  more_->setObjectName("picture_more");
  more_->setCheckable(true);
  more_->setFocusPolicy(Qt::StrongFocus);
  more_->setFixedHeight(kRow);
  set_look(more_, "dim");
  flow_->addWidget(more_);
  connect(more_, &QToolButton::toggled, this, &PictureForm::show_more);
  negative_ = new QLineEdit(this);
  negative_->setObjectName("picture_negative");
  negative_->setAccessibleName(tr("Negative prompt"));
  negative_->setToolTip(tr("What guidance leads away from, in the model's words"));
  negative_->setFixedWidth(150);
  connect(negative_, &QLineEdit::textChanged, this, &PictureForm::check_prompt);
  dtype_ = choice("picture_dtype", tr("Type of the attention tensors"), {"float32", "float16", "bfloat16"},
                  tr("Type of the attention tensors, which some backends ask for"));
  text_ = choice("picture_text", tr("Form of the text"), {tr("padded, masked"), tr("trimmed, no mask")},
                 tr("Padded: both prompts in one batch with an attn_mask. Trimmed: one forward each without a mask,\n"
                    "for backends that take none."));
  source_ = choice("picture_source", tr("Who counts the steps"), {tr("callback"), tr("hook")},
                   tr("Callback: classic pipelines, after a step. Hook: modular ones, before each forward."));
  compiled_ = new QCheckBox(tr("compiled"), this);
  compiled_->setObjectName("picture_compiled");
  compiled_->setToolTip(tr("Choose routes once per call site and keep them until the chain is rebuilt"));
  rare_cells_ = {cell(tr("Negative"), negative_), cell(tr("Type"), dtype_), cell(tr("Text"), text_),
                 cell(tr("Steps by"), source_), cell({}, compiled_)};
}

void PictureForm::show_second(bool on) {
  if (on) {  // never smaller than the first
    second_width_->setValue(std::max(second_width_->value(), width_->value()));
    second_height_->setValue(std::max(second_height_->value(), height_->value()));
  }
  for (QWidget* one : second_cells_) one->setVisible(on);
  updateGeometry();
}

void PictureForm::show_more(bool more) {
  for (QWidget* one : rare_cells_) one->setVisible(more);
  more_->setText(more ? tr("Fewer") : tr("%1 more").arg(rare_cells_.size()));
  more_->setToolTip(more ? tr("Hide the inputs that rarely change") : tr("Show the inputs that rarely change"));
  updateGeometry();
}

PictureRequest PictureForm::request() const {
  PictureRequest out;
  out.prompt = prompt_->prompt();
  out.negative_prompt = negative_->text().simplified();
  out.seed = seed_->text().toULongLong();
  out.width = width_->value();
  out.height = height_->value();
  out.steps = steps_->value();
  out.guidance = guidance_->value();
  if (second_->isChecked()) {
    out.second = SecondPass{second_width_->value(), second_height_->value(), second_steps_->value(), strength_->value(),
                            upscale_->currentIndex() == 1};
  }
  out.dtype = kDtypes.at(static_cast<std::size_t>(std::max(0, dtype_->currentIndex())));
  out.trimmed_text = text_->currentIndex() == 1;
  out.step_hook = source_->currentIndex() == 1;
  out.compiled = compiled_->isChecked();
  return out;
}

void PictureForm::set_request(const PictureRequest& request) {
  prompt_->set_prompt(request.prompt);
  negative_->setText(request.negative_prompt);
  seed_->setText(QString::number(request.seed));
  width_->setValue(request.width);
  height_->setValue(request.height);
  steps_->setValue(request.steps);
  guidance_->setValue(request.guidance);
  const SecondPass second = request.second.value_or(SecondPass());
  second_->setChecked(false);
  second_width_->setValue(second.width);
  second_height_->setValue(second.height);
  second_steps_->setValue(second.steps);
  strength_->setValue(second.strength);
  upscale_->setCurrentIndex(second.through_image ? 1 : 0);
  second_->setChecked(request.second.has_value());
  show_second(request.second.has_value());
  for (std::size_t i = 0; i < kDtypes.size(); ++i) {
    if (kDtypes[i] == request.dtype) dtype_->setCurrentIndex(static_cast<int>(i));
  }
  text_->setCurrentIndex(request.trimmed_text ? 1 : 0);
  source_->setCurrentIndex(request.step_hook ? 1 : 0);
  compiled_->setChecked(request.compiled);
  const bool rare = !request.negative_prompt.isEmpty() || request.dtype != DType::float32 || request.trimmed_text ||
                    request.step_hook || request.compiled;
  if (rare) more_->setChecked(true);
}

void PictureForm::draw_seed() {
  // Short enough to be read and said; a person may type longer ones.
  if (random_->isChecked()) seed_->setText(QString::number(QRandomGenerator::global()->bounded(1000000000)));
}

void PictureForm::keep_seed() { random_->setChecked(false); }
int PictureForm::steps() const { return steps_->value(); }

void PictureForm::save(QSettings& settings) const {
  settings.setValue("picture/prompt", prompt_->prompt());
  settings.setValue("picture/seed", seed_->text());
  settings.setValue("picture/random", random_->isChecked());
  settings.setValue("picture/width", width_->value());
  settings.setValue("picture/height", height_->value());
  settings.setValue("picture/steps", steps_->value());
  settings.setValue("picture/guidance", guidance_->value());
}

void PictureForm::restore(const QSettings& settings) {
  if (!settings.contains("picture/prompt")) return;
  PictureRequest request = this->request();
  request.prompt = settings.value("picture/prompt").toString();
  request.seed = settings.value("picture/seed").toULongLong();
  request.width = settings.value("picture/width", request.width).toInt();
  request.height = settings.value("picture/height", request.height).toInt();
  request.steps = settings.value("picture/steps", request.steps).toInt();
  request.guidance = settings.value("picture/guidance", request.guidance).toDouble();
  set_request(request);
  random_->setChecked(settings.value("picture/random", false).toBool());
}

}  // namespace attn::ui
