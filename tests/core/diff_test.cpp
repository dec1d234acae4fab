// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/exchange/diff.h"

#include "support/oracle.h"

#include <QtTest>

#include <random>
#include <string>
#include <vector>

using attn::diff_lines;
using attn::diff_text;
using attn::DiffLine;
using attn::test::q;

namespace {

std::string joined(const std::vector<DiffLine>& lines, DiffLine::Kind without) {
  std::string text;
  for (const DiffLine& line : lines) {
    if (line.kind != without) text += line.text + "\n";
  }
  return text;
}

std::size_t changes(const std::vector<DiffLine>& lines) {
  std::size_t count = 0;
  for (const DiffLine& line : lines) count += line.kind == DiffLine::Kind::context ? 0 : 1;
  return count;
}

}  // namespace

class DiffTest : public QObject {
  Q_OBJECT

 private slots:
  void equal_texts_have_no_diff();
  void a_change_shows_with_its_neighbours();
  void line_ends_are_part_of_a_line();
  void both_texts_can_be_read_out_of_a_diff();
  void scripts_are_shortest();
  void texts_far_apart_are_one_replacement();
};

void DiffTest::equal_texts_have_no_diff() {
  QVERIFY(diff_lines("", "").empty());
  QVERIFY(diff_lines("a\nb\n", "a\nb\n").empty());
}

void DiffTest::a_change_shows_with_its_neighbours() {
  const auto lines = diff_lines("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\nten\n", 1);
  QCOMPARE(q(diff_text(lines)), q("...\n  4\n- 5\n+ five\n  6\n...\n  9\n+ ten\n"));
  QCOMPARE(lines[2].old_line, std::size_t{5});
  QCOMPARE(lines[2].new_line, std::size_t{0});
  QCOMPARE(lines[3].new_line, std::size_t{5});
  QCOMPARE(lines[6].old_line, std::size_t{9});
  QCOMPARE(q(diff_text(diff_lines("", "a\n"))), q("+ a\n"));
  QCOMPARE(q(diff_text(diff_lines("a\n", ""))), q("- a\n"));
}

void DiffTest::line_ends_are_part_of_a_line() {
  QCOMPARE(q(diff_text(diff_lines("a\nb\n", "a\nb"))), q("  a\n- b\n+ b\n"));
  QCOMPARE(q(diff_text(diff_lines("a\r\nb\n", "a\nb\n"))), q("- a\n+ a\n  b\n"));
}

void DiffTest::both_texts_can_be_read_out_of_a_diff() {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string before;
    std::string after;
    const int words = round % 3 + 2;
    for (int i = static_cast<int>(random() % 30); i > 0; --i) before += std::to_string(random() % words) + "\n";
    for (int i = static_cast<int>(random() % 30); i > 0; --i) after += std::to_string(random() % words) + "\n";
    const auto lines = diff_lines(before, after, 1000);
    if (before == after) continue;
    QCOMPARE(q(joined(lines, DiffLine::Kind::added)), q(before));
    QCOMPARE(q(joined(lines, DiffLine::Kind::removed)), q(after));
  }
}

void DiffTest::scripts_are_shortest() {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    std::vector<int> a(random() % 12);
    std::vector<int> b(random() % 12);
    for (int& word : a) word = static_cast<int>(random() % 3);
    for (int& word : b) word = static_cast<int>(random() % 3);
    // The longest common subsequence by the textbook table.
    std::vector<std::vector<std::size_t>> common(a.size() + 1, std::vector<std::size_t>(b.size() + 1, 0));
    for (std::size_t i = 1; i <= a.size(); ++i) {
      for (std::size_t j = 1; j <= b.size(); ++j) {
        common[i][j] = a[i - 1] == b[j - 1] ? common[i - 1][j - 1] + 1 : std::max(common[i - 1][j], common[i][j - 1]);
      }
    }
    std::string before;
    std::string after;
    for (const int word : a) before += std::to_string(word) + "\n";
    for (const int word : b) after += std::to_string(word) + "\n";
    QCOMPARE(changes(diff_lines(before, after, 100)), a.size() + b.size() - 2 * common[a.size()][b.size()]);
  }
}

void DiffTest::texts_far_apart_are_one_replacement() {
  std::string before = "head\n";
  std::string after = "head\n";
  for (int i = 0; i < 3000; ++i) {
    before += "old " + std::to_string(i) + "\n";
    after += "new " + std::to_string(i) + "\n";
  }
  const auto lines = diff_lines(before + "tail\n", after + "tail\n", 1);
  QCOMPARE(lines.size(), std::size_t{6002});
  QVERIFY(lines.front().kind == DiffLine::Kind::context && lines.back().kind == DiffLine::Kind::context);
}

QTEST_GUILESS_MAIN(DiffTest)
#include "diff_test.moc"
