// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/filter/filter_completion.h"

#include <algorithm>

namespace attn::ui {

namespace {

bool is_comparison(QChar c) { return c == ':' || c == '=' || c == '<' || c == '>' || c == '!'; }

/// Where the item under the cursor begins: behind a blank or a parenthesis that stands outside quotes; -1 in quotes.
qsizetype item_start(const QString& line, qsizetype cursor) {
  bool quoted = false;
  qsizetype start = 0;
  for (qsizetype i = 0; i < cursor; ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (!quoted && (line[i].isSpace() || line[i] == '(' || line[i] == '|')) start = i + 1;
  }
  return quoted ? -1 : start;
}

QString in_quotes_if_needed(const QString& value) {
  const bool needs =
      std::any_of(value.begin(), value.end(), [](QChar c) { return c.isSpace() || c == ',' || c == '('; });
  return needs ? '"' + value + '"' : value;
}

void add_fields(FilterCompletion& out, QStringView typed) {
  for (const FieldSpec& spec : filter_fields()) {
    const QString name = QString::fromLatin1(spec.name);
    if (!name.startsWith(typed, Qt::CaseInsensitive)) continue;
    out.choices.push_back({spec.kind == FieldKind::number && spec.unit != FieldUnit::none ? name + '>' : name + ':',
                           QString::fromLatin1(spec.help) + QStringLiteral(" · ") + QString::fromLatin1(spec.example)});
  }
}

}  // namespace

FilterCompletion complete_filter(const QString& line, qsizetype cursor, const ValuesOf& values) {
  cursor = std::clamp<qsizetype>(cursor, 0, line.size());
  qsizetype start = item_start(line, cursor);
  FilterCompletion out;
  if (start < 0) return out;
  while (start < cursor && line[start] == '-') ++start;
  qsizetype value = cursor;
  while (value > start && !is_comparison(line[value - 1])) --value;
  if (value == start) {
    out.at = start;
    out.length = cursor - start;
    add_fields(out, QStringView(line).sliced(start, cursor - start));
    return out;
  }
  qsizetype name_end = value;
  while (name_end > start && is_comparison(line[name_end - 1])) --name_end;
  const FieldSpec* spec = find_field(QStringView(line).sliced(start, name_end - start));
  if (spec == nullptr) return out;
  const qsizetype comma = line.lastIndexOf(',', std::max<qsizetype>(cursor - 1, 0));
  out.at = cursor > 0 && comma >= value ? comma + 1 : value;
  out.length = cursor - out.at;
  const QString typed = line.sliced(out.at, out.length);
  const QStringList there = spec->kind == FieldKind::flag ? QStringList{"yes", "no"} : values(spec->field);
  for (const QString& one : there) {
    if (one.startsWith(typed, Qt::CaseInsensitive) && one != typed)
      out.choices.push_back({in_quotes_if_needed(one), {}});
  }
  return out;
}

}  // namespace attn::ui
