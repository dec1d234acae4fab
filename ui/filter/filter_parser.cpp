// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/filter/filter_parser.h"

#include "ui/filter/filter_number.h"

#include <QCoreApplication>
#include <algorithm>
#include <utility>

namespace attn::ui {

namespace {

using Ask = FilterTerm::Ask;
using Node = Filter::Node;

QString tr(const char* text) { return QCoreApplication::translate("Filter", text); }

bool ends_word(QChar c) { return c.isSpace() || c == '(' || c == ')' || c == '"' || c == '|'; }
bool begins_operator(QChar c) { return c == ':' || c == '=' || c == '<' || c == '>' || c == '!'; }

struct Operator {
  const char* text;
  Ask ask;
  bool negated;
};
// Longer ones first.
constexpr Operator kOperators[] = {
    {"!=", Ask::is, true}, {"<=", Ask::less_equal, false}, {">=", Ask::greater_equal, false}, {":", Ask::has, false},
    {"=", Ask::is, false}, {"<", Ask::less, false},        {">", Ask::greater, false}};

/// A value as written: where, and without its quotes.
struct Value {
  qsizetype at = 0;
  qsizetype length = 0;
  QString text;
  bool quoted = false;
};

class Parser {
 public:
  explicit Parser(const QString& line) : line_(line) {}

  ParsedFilter run() {
    Node root = read_any(0);
    skip_blanks();
    if (!error_ && at_ < line_.size()) fail(at_, 1, tr("This parenthesis closes none; take it out."));
    ParsedFilter out;
    out.marks = std::move(marks_);
    if (error_) {
      out.error = std::move(error_);
    } else {
      out.filter = Filter(std::move(root));
    }
    return out;
  }

 private:
  // A person nests two or three; the bound keeps pasted rubbish from using up the stack.
  static constexpr int kDeepest = 64;

  void fail(qsizetype at, qsizetype length, const QString& sentence) {
    if (error_ || line_.isEmpty()) return;
    at = std::clamp<qsizetype>(at, 0, line_.size() - 1);
    error_ = FilterError{at, std::clamp<qsizetype>(length, 1, line_.size() - at), sentence};
  }

  [[nodiscard]] bool at_end() const { return at_ >= line_.size(); }
  [[nodiscard]] QChar here() const { return at_end() ? QChar() : line_[at_]; }
  void skip_blanks() {
    while (!at_end() && here().isSpace()) ++at_;
  }

  /// Length of an OR that comes next; 0: none does.
  [[nodiscard]] qsizetype or_here() const {
    if (here() == '|') return 1;
    const bool word = QStringView(line_).sliced(at_).startsWith(u"OR");
    return word && (at_ + 2 == line_.size() || ends_word(line_[at_ + 2])) ? 2 : 0;
  }

  Node read_any(int depth) {
    Node any{Node::Kind::any, {}, {}};
    any.parts.push_back(read_all(depth));
    skip_blanks();
    for (qsizetype length = or_here(); !error_ && length > 0; length = or_here()) {
      const qsizetype at = at_;
      at_ += length;
      if (any.parts.back().parts.empty())
        fail(at, length, tr("OR stands between two conditions; write one before it."));
      any.parts.push_back(read_all(depth));
      if (any.parts.back().parts.empty()) fail(at, length, tr("OR stands between two conditions; write one after it."));
      skip_blanks();
    }
    return any.parts.size() == 1 ? std::move(any.parts.front()) : any;
  }

  Node read_all(int depth) {
    Node all{Node::Kind::all, {}, {}};
    for (skip_blanks(); !error_ && !at_end() && here() != ')' && or_here() == 0; skip_blanks()) {
      all.parts.push_back(read_item(depth));
    }
    return all;
  }

  Node read_item(int depth) {
    if (here() == '-') {
      const qsizetype at = at_++;
      const bool nothing = at_end() || here().isSpace() || here() == ')' || here() == '|' || here() == '-';
      if (nothing) fail(at, 1, tr("Write what the minus leaves out right after it: -mask:none."));
      return nothing ? Node{} : negated(read_item(depth));
    }
    if (here() == '(') return read_group(depth);
    if (here() == '"') {
      const Value value = read_value();
      return word_node(value);
    }
    return read_word();
  }

  Node read_group(int depth) {
    const qsizetype at = at_++;
    if (depth >= kDeepest) {
      fail(at, 1, tr("These parentheses are nested too deeply; take some out."));
      return {};
    }
    Node inner = read_any(depth + 1);
    skip_blanks();
    if (here() != ')') {
      fail(at, 1, tr("This parenthesis is not closed; write ) at its end."));
      return {};
    }
    ++at_;
    if (inner.kind == Node::Kind::all && inner.parts.empty()) {
      fail(at, at_ - at, tr("Nothing stands between these parentheses; write a condition or take them out."));
    }
    return inner;
  }

  /// A word, or a field with its comparison: "role:vae", "calls > 0".
  Node read_word() {
    const qsizetype at = at_;
    while (!at_end() && !ends_word(here()) && !operator_here()) ++at_;
    const QString word = line_.sliced(at, at_ - at);
    const qsizetype after = at_;
    const FieldSpec* spec = find_field(word);
    if (spec != nullptr) skip_blanks();
    const Operator* op = operator_here();
    if (op == nullptr) {
      at_ = after;
      return word_node({at, after - at, word, false});
    }
    if (word.isEmpty()) {
      fail(at, qstrlen(op->text),
           tr("A comparison needs a field before it, such as q>8192; quote the text to look for it."));
      return {};
    }
    if (spec == nullptr) {
      const FieldSpec* near = nearest_field(word);
      fail(at, after - at,
           near != nullptr
               ? tr("There is no field \"%1\"; did you mean %2? Quote the text to look for it.").arg(word, near->name)
               : tr("There is no field \"%1\"; quote the text to look for it.").arg(word));
      return {};
    }
    at_ += static_cast<qsizetype>(qstrlen(op->text));
    marks_.push_back({at, at_ - at});
    return read_comparison(*spec, *op, at);
  }

  [[nodiscard]] const Operator* operator_here() const {
    if (at_end() || !begins_operator(here())) return nullptr;
    const QStringView rest = QStringView(line_).sliced(at_);
    for (const Operator& op : kOperators) {
      if (rest.startsWith(QLatin1String(op.text))) return &op;
    }
    return nullptr;
  }

  Node read_comparison(const FieldSpec& spec, const Operator& op, qsizetype at) {
    const QString name = QString::fromLatin1(spec.name);
    skip_blanks();
    std::vector<Value> values;
    do {
      if (!values.empty()) ++at_;  // the comma
      values.push_back(read_value());
      if (error_) return {};
      if (!values.back().text.isEmpty() || values.back().quoted) continue;
      fail(at, at_ - at, tr("%1 needs a value, such as %2.").arg(name, spec.example));
      return {};
    } while (here() == ',');
    FilterTerm term;
    term.field = spec.field;
    term.ask = op.ask;
    const bool compares = op.ask != Ask::has && op.ask != Ask::is;
    if (compares && spec.kind != FieldKind::number) {
      fail(at, at_ - at, tr("%1 is no number, so it has no order; write %2.").arg(name, spec.example));
      return {};
    }
    if (compares && values.size() > 1) {
      fail(values[1].at, values[1].length, tr("%1 compares with one number; a list goes with %2:.").arg(op.text, name));
      return {};
    }
    for (const Value& value : values) take_value(spec, term, value);
    Node node{Node::Kind::term, std::move(term), {}};
    return op.negated ? negated(std::move(node)) : node;
  }

  void take_value(const FieldSpec& spec, FilterTerm& term, const Value& value) {
    const QString name = QString::fromLatin1(spec.name);
    switch (spec.kind) {
      case FieldKind::text:
        term.texts << value.text.toCaseFolded();
        return;
      case FieldKind::flag:
        if (const std::optional<bool> flag = flag_of(value.text)) {
          term.flag = *flag;
        } else {
          fail(value.at, value.length, tr("%1 is yes or no, not \"%2\".").arg(name, value.text));
        }
        return;
      case FieldKind::number:
        break;
    }
    const bool point = term.ask != Ask::has && term.ask != Ask::is;
    const std::optional<FilterTerm::Range> range = range_of(value.text, spec.unit);
    if (range && !(point && range->low != range->high)) {
      term.ranges.push_back(*range);
      return;
    }
    fail(value.at, value.length,
         value.text.contains("..") && !point
             ? tr("\"%1\" is no range; write the smaller number first, such as step:3..12.").arg(value.text)
             : tr("%1 takes a number, such as %2, not \"%3\".").arg(name, spec.example, value.text));
  }

  static std::optional<bool> flag_of(const QString& text) {
    for (const char* yes : {"yes", "y", "true", "on", "1"}) {
      if (text.compare(QLatin1String(yes), Qt::CaseInsensitive) == 0) return true;
    }
    for (const char* no : {"no", "n", "false", "off", "0"}) {
      if (text.compare(QLatin1String(no), Qt::CaseInsensitive) == 0) return false;
    }
    return std::nullopt;
  }

  /// A quoted text, or everything up to a blank, a comma or a parenthesis. Inside quotes "" is one of them.
  Value read_value() {
    Value value{at_, 0, {}, here() == '"'};
    if (!value.quoted) {
      while (!at_end() && !ends_word(here()) && here() != ',') value.text += line_[at_++];
      value.length = at_ - value.at;
      return value;
    }
    for (++at_; !at_end(); ++at_) {
      if (here() != '"') {
        value.text += here();
        continue;
      }
      ++at_;
      if (here() != '"') {
        value.length = at_ - value.at;
        return value;
      }
      value.text += '"';
    }
    fail(value.at, line_.size() - value.at, tr("This quotation mark is not closed; write \" at the end of the text."));
    return value;
  }

  static Node word_node(const Value& value) {
    FilterTerm term;
    term.ask = Ask::word;
    term.texts << value.text.toCaseFolded();
    return {Node::Kind::term, std::move(term), {}};
  }

  static Node negated(Node node) {
    Node no{Node::Kind::no, {}, {}};
    no.parts.push_back(std::move(node));
    return no;
  }

  const QString& line_;
  qsizetype at_ = 0;
  std::optional<FilterError> error_;
  std::vector<FilterMark> marks_;
};

}  // namespace

ParsedFilter parse_filter(const QString& line) { return Parser(line).run(); }

QString written_term(FilterField field, const QString& value) {
  const FieldSpec& spec = spec_of(field);
  const auto special = [](QChar c) { return ends_word(c) || c == ',' || c == '"'; };
  QString text = value;
  if (value.isEmpty() || std::any_of(value.begin(), value.end(), special)) {
    text = '"' + text.replace('"', QStringLiteral("\"\"")) + '"';
  }
  return QLatin1String(spec.name) + (spec.kind == FieldKind::text ? "=" : ":") + text;
}

}  // namespace attn::ui
