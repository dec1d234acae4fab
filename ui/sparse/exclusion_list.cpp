// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/sparse/exclusion_list.h"

#include "core/sparse/exclusions.h"
#include "ui/format/format.h"

#include <QCoreApplication>
#include <QHash>
#include <QMap>
#include <QSet>
#include <algorithm>

namespace attn::ui {

namespace {

enum class Kind { architecture, pipeline, denoiser };

QString kind_text(Kind kind) {
  switch (kind) {
    case Kind::architecture:
      return QCoreApplication::translate("Exclusions", "architecture");
    case Kind::pipeline:
      return QCoreApplication::translate("Exclusions", "pipeline class");
    case Kind::denoiser:
      return QCoreApplication::translate("Exclusions", "denoiser class");
  }
  return {};
}

QString folded(const QString& text) { return text_of(lower_text(utf8_of(text))); }

/// Calls visit(name, kind, model) for each name that a model has.
template <class Visit>
void each_name(const std::vector<ModelNames>& models, Visit visit) {
  for (const ModelNames& model : models) {
    if (model.key.architecture) visit(text_of(*model.key.architecture), Kind::architecture, model);
    if (!model.key.pipeline.empty()) visit(text_of(model.key.pipeline), Kind::pipeline, model);
    if (model.key.denoiser) visit(text_of(*model.key.denoiser), Kind::denoiser, model);
  }
}

}  // namespace

QStringList exclusion_texts(const QString& option) {
  QStringList texts;
  for (const QString& part : option.split(',')) {
    const std::string whole = utf8_of(part);
    const QString text = text_of(trim_text(whole));
    if (!text.isEmpty()) texts << text;
  }
  return texts;
}

QString exclusion_option(const QStringList& texts) { return texts.join(", "); }

std::vector<Exclusion> exclusions_of(const QString& option, const std::vector<ModelNames>& models,
                                     const ModelNames* loaded) {
  QHash<QString, QStringList> known;
  each_name(models, [&](const QString& name, Kind kind, const ModelNames& model) {
    known[folded(name)] << QCoreApplication::translate("Exclusions", "%1 of %2").arg(kind_text(kind), model.name);
  });
  std::vector<Exclusion> out;
  for (const QString& text : exclusion_texts(option)) {
    const bool matches = loaded != nullptr && !matched_exclusion(parse_exclusions(utf8_of(text)), loaded->key).empty();
    out.push_back({text, matches, known.value(folded(text))});
  }
  return out;
}

std::vector<KnownName> known_names(const std::vector<ModelNames>& models) {
  struct Uses {
    QString spelled;
    QStringList kinds;
    QStringList models;
  };
  QMap<QString, Uses> names;
  each_name(models, [&](const QString& name, Kind kind, const ModelNames& model) {
    Uses& uses = names[folded(name)];
    if (uses.spelled.isEmpty()) uses.spelled = name;
    if (!uses.kinds.contains(kind_text(kind))) uses.kinds << kind_text(kind);
    if (!uses.models.contains(model.name)) uses.models << model.name;
  });
  std::vector<KnownName> out;
  for (const Uses& uses : std::as_const(names)) {
    QStringList shown = uses.models.mid(0, 3);
    if (uses.models.size() > shown.size()) {
      shown << QCoreApplication::translate("Exclusions", "%1 more").arg(uses.models.size() - shown.size());
    }
    out.push_back({uses.spelled, uses.kinds.join(", ") + " · " + shown.join(", ")});
  }
  return out;
}

QString with_exclusions(const QString& option, const QString& typed) {
  QStringList texts = exclusion_texts(option);
  QSet<QString> there;
  for (const QString& text : std::as_const(texts)) there.insert(folded(text));
  const qsizetype before = texts.size();
  for (const QString& text : exclusion_texts(typed)) {
    if (there.contains(folded(text))) continue;
    there.insert(folded(text));
    texts << text;
  }
  return texts.size() == before ? option : exclusion_option(texts);
}

}  // namespace attn::ui
