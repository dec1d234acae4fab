// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/sparse/sparse_service.h"

#include <QString>
#include <QStringList>
#include <vector>

namespace attn::ui {

/// An entry of the exclusion list as a chip shows it.
struct Exclusion {
  QString text;          ///< as it was written
  bool matches = false;  ///< the loaded model has this name
  QStringList known_as;  ///< "denoiser of FLUX.1 dev"; empty: no known model has this name
  friend bool operator==(const Exclusion&, const Exclusion&) = default;
};

/// A name that may be added, with what it names.
struct KnownName {
  QString name;
  QString what;  ///< "denoiser class · FLUX.1 dev, FLUX.1 schnell"
};

/// The entries of the option's text as written: split at commas, trimmed, empty ones left out.
[[nodiscard]] QStringList exclusion_texts(const QString& option);
[[nodiscard]] QString exclusion_option(const QStringList& texts);
/// The entries with what they stand for. `loaded` may be null.
[[nodiscard]] std::vector<Exclusion> exclusions_of(const QString& option, const std::vector<ModelNames>& models,
                                                   const ModelNames* loaded);
/// Every architecture, pipeline and denoiser class of the models, each once, sorted.
[[nodiscard]] std::vector<KnownName> known_names(const std::vector<ModelNames>& models);
/// Adds what `typed` holds (names apart by commas) and leaves out what is there already, in any case.
[[nodiscard]] QString with_exclusions(const QString& option, const QString& typed);

}  // namespace attn::ui
