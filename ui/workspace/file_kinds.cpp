// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workspace/file_kinds.h"

#include "core/exchange/formats.h"
#include "core/exchange/json_value.h"
#include "ui/format/format.h"
#include "ui/workspace/workspace_text.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <algorithm>
#include <array>

namespace attn::ui {

namespace {

std::string_view text_in(const FileLook& look) {
  return {look.head.constData(), static_cast<std::size_t>(look.head.size())};
}

bool holds(const FileLook& look, std::string_view part) { return text_in(look).find(part) != std::string_view::npos; }

bool is_text(const FileLook& look) { return !look.head.isEmpty() && !look.head.contains('\0'); }

bool is_workspace(const FileLook& look) { return is_text(look) && looks_like_workspace(text_in(look)); }

bool is_levers(const FileLook& look) { return is_text(look) && holds(look, "\"attnscope\": \"levers\""); }

/// A JSON object with a member that one of the formats keeps settings under, or a text with their words.
bool is_settings(const FileLook& look) {
  if (!is_text(look)) return false;
  constexpr std::array<std::string_view, 4> kWords{"set_attention_backend(", "DIFFUSERS_ATTN_", "--use-", "-xformers"};
  const bool json = text_in(look).substr(0, 512).find('{') != std::string_view::npos &&
                    text_in(look).find_first_not_of(" \t\r\n\xef\xbb\xbf") == text_in(look).find('{');
  if (!json) return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) { return holds(look, word); });
  constexpr std::array<std::string_view, 13> kKeys{"\"attnscope\": \"profile\"",
                                                   "\"attnscope\":\"profile\"",
                                                   "\"sdp_",
                                                   "\"sdnq_attention",
                                                   "\"sparse_attention",
                                                   "\"cross_attention_optimization\"",
                                                   "\"attention_backend\"",
                                                   "\"model_path\"",
                                                   "\"dynamic_attention",
                                                   "\"attention_slicing\"",
                                                   "\"hf_attention\"",
                                                   "\"class_type\"",
                                                   "\"nodes\""};
  return std::any_of(kKeys.begin(), kKeys.end(), [&](std::string_view key) { return holds(look, key); });
}

bool is_png(const FileLook& look) { return look.head.startsWith("\x89PNG\r\n\x1a\n"); }
bool is_npy(const FileLook& look) { return look.head.startsWith("\x93NUMPY"); }

/// Eight bytes with the length of a JSON header, and the header.
bool is_safetensors(const FileLook& look) {
  if (look.head.size() < 10 || look.head[8] != '{') return false;
  quint64 length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(look.head[i]);
  return length + 8 <= static_cast<quint64>(look.size);
}

/// Lines with a time or a level, as a server writes them.
bool is_log(const FileLook& look) {
  if (!is_text(look) || look.head.trimmed().startsWith('{')) return false;
  constexpr std::array<std::string_view, 4> kWords{" ERROR ", " INFO ", " WARNING ", "Torch attention"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) { return holds(look, word); });
}

bool is_empty(const FileLook& look) { return look.size == 0; }
bool is_anything(const FileLook&) { return true; }

constexpr std::array<FileKindRow, 9> kKinds{{
    {FileKind::empty, QT_TRANSLATE_NOOP("FileKinds", "an empty file"), "", false,
     QT_TRANSLATE_NOOP("FileKinds", "a file with something in it is needed"), is_empty},
    {FileKind::workspace, QT_TRANSLATE_NOOP("FileKinds", "a workspace"), "*.attnscope", true, "", is_workspace},
    {FileKind::levers, QT_TRANSLATE_NOOP("FileKinds", "measured levers"), "*.json", true, "", is_levers},
    {FileKind::picture, QT_TRANSLATE_NOOP("FileKinds", "a picture"), "*.png", true, "", is_png},
    {FileKind::mask, QT_TRANSLATE_NOOP("FileKinds", "a block mask"), "*.npy", true, "", is_npy},
    {FileKind::tensors, QT_TRANSLATE_NOOP("FileKinds", "recorded tensors"), "*.safetensors", true, "", is_safetensors},
    {FileKind::settings, QT_TRANSLATE_NOOP("FileKinds", "settings"), "*.json *.py *.sh *.env *.txt", true, "",
     is_settings},
    {FileKind::log, QT_TRANSLATE_NOOP("FileKinds", "the log of a server"), "*.log *.txt", true, "", is_log},
    {FileKind::other, "", "", false, "", is_anything},
}};

QString translated(const char* text) { return QCoreApplication::translate("FileKinds", text); }

/// "a workspace (*.attnscope), a picture (*.png) or the log of a server (*.log)"
QString all_that_opens() {
  QStringList kinds;
  for (const FileKindRow& row : kKinds) {
    if (row.opens) kinds << translated(row.what);
  }
  const QString last = kinds.takeLast();
  return kinds.join(", ") + translated(" or ") + last;
}

}  // namespace

std::span<const FileKindRow> file_kinds() noexcept { return kKinds; }

const FileKindRow& kind_of(const FileLook& look) {
  return *std::find_if(kKinds.begin(), kKinds.end(), [&](const FileKindRow& row) { return row.looks_so(look); });
}

QString refusal_of(const FileLook& look) {
  const QString name = QFileInfo(look.path).fileName();
  const FileKindRow& row = kind_of(look);
  if (row.kind == FileKind::other) {
    const bool text = is_text(look);
    return (text ? translated("%1 is a text without any setting; %2 can be opened here.")
                 : translated("%1 is not of a kind that is known here; %2 can be opened."))
        .arg(name, all_that_opens());
  }
  return translated("%1 is %2; %3.").arg(name, translated(row.what), translated(row.advice));
}

QString open_filter() {
  QStringList all;
  QStringList each;
  for (const FileKindRow& row : kKinds) {
    if (!row.opens) continue;
    all << QString::fromLatin1(row.pattern).split(' ');
    QString title = translated(row.what);
    if (title.startsWith("a ")) title = title.mid(2);
    title[0] = title[0].toUpper();
    each << QStringLiteral("%1 (%2)").arg(title, QString::fromLatin1(row.pattern));
  }
  all.removeDuplicates();
  return translated("Everything that opens (%1)").arg(all.join(' ')) + ";;" + each.join(";;") + ";;" +
         translated("All files (*)");
}

}  // namespace attn::ui
