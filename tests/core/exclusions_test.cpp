// SPDX-License-Identifier: GPL-3.0-or-later
// The exclusion list: every case of exclusions.json.
#include "core/sparse/exclusions.h"
#include "support/oracle.h"

#include <QtTest>

using namespace attn;
using nlohmann::json;

namespace {

std::optional<std::string> text_or_none(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<std::string>());
}

ModelKey model_of(const json& model) {
  return {text_or_none(model["pipeline"]).value_or(""), text_or_none(model["denoiser"]), text_or_none(model["arch"])};
}

}  // namespace

class ExclusionsTest : public QObject {
  Q_OBJECT

 private slots:
  void entries_and_matches_are_the_oracles() {
    const json oracle = test::oracle("exclusions.json");
    std::vector<json> models(oracle["models"].begin(), oracle["models"].end());
    models.push_back(oracle["unicode_extra_model"]);
    int matches = 0;
    int met = 0;
    for (const json& row : oracle["cases"]) {
      const auto entries = parse_exclusions(row["raw"].is_null() ? "" : row["raw"].get<std::string>());
      QCOMPARE(test::q(json(entries).dump()), test::q(row["entries"].dump()));
      QCOMPARE(row["matched"].size(), row["group"] == "unicode" ? 13UL : 12UL);
      for (std::size_t i = 0; i < row["matched"].size(); ++i) {
        QCOMPARE(test::q(matched_exclusion(entries, model_of(models[i]))),
                 test::q(row["matched"][i].get<std::string>()));
        ++matches;
      }
      ++met;
    }
    QCOMPARE(met, 37);
    QCOMPARE(matches, 32 * 12 + 5 * 13);
  }

  void letters_of_the_stated_scripts_are_lowered_data() {
    QTest::addColumn<QString>("upper");
    QTest::addColumn<QString>("lower");
    QTest::newRow("Latin-1") << QStringLiteral("\u00C0\u00D7\u00DE\u00DF")
                             << QStringLiteral("\u00E0\u00D7\u00FE\u00DF");
    QTest::newRow("Latin Extended") << QStringLiteral("\u0100\u0139\u0178\u017D\u01CD\u0218")
                                    << QStringLiteral("\u0101\u013A\u00FF\u017E\u01CE\u0219");
    QTest::newRow("Latin Extended Additional")
        << QStringLiteral("\u1E00\u1E9E\u1EFE") << QStringLiteral("\u1E01\u00DF\u1EFF");
    QTest::newRow("Greek") << QStringLiteral("\u0386\u0389\u038C\u038F\u0391\u03A3\u03AB")
                           << QStringLiteral("\u03AC\u03AE\u03CC\u03CE\u03B1\u03C3\u03CB");
    QTest::newRow("Cyrillic") << QStringLiteral("\u0401\u0410\u042F\u0460\u04C0\u04C1\u052E")
                              << QStringLiteral("\u0451\u0430\u044F\u0461\u04CF\u04C2\u052F");
    QTest::newRow("Armenian") << QStringLiteral("\u0531\u0556") << QStringLiteral("\u0561\u0586");
    QTest::newRow("full width") << QStringLiteral("\uFF21\uFF3A") << QStringLiteral("\uFF41\uFF5A");
    QTest::newRow("a letter that becomes two") << QStringLiteral("\u0130") << QStringLiteral("i\u0307");
    QTest::newRow("no letters") << QStringLiteral("12_-;*\u4E2D\U0001F600") << QStringLiteral("12_-;*\u4E2D\U0001F600");
  }
  void letters_of_the_stated_scripts_are_lowered() {
    QFETCH(QString, upper);
    QFETCH(QString, lower);
    QCOMPARE(test::q(lower_text(upper.toStdString())), lower);
    QCOMPARE(test::q(lower_text(lower.toStdString())), lower);
  }

  void every_letter_of_the_stated_scripts_agrees_with_qt() {
    const auto in_scope = [](char32_t c) {
      return c < 0x180 || (c >= 0x1CD && c <= 0x1DC) || (c >= 0x1DE && c <= 0x1EF) || (c >= 0x1F8 && c <= 0x21F) ||
             (c >= 0x222 && c <= 0x233) || (c >= 0x246 && c <= 0x24F) || (c >= 0x386 && c <= 0x3EF && c != 0x3CF) ||
             (c >= 0x400 && c <= 0x52F) || (c >= 0x531 && c <= 0x556) || (c >= 0x1E00 && c <= 0x1E95) ||
             (c >= 0x1E9E && c <= 0x1EFF) || (c >= 0xFF21 && c <= 0xFF3A);
    };
    int letters = 0;
    for (char32_t c = 0x20; c <= 0xFFFF; ++c) {
      if (!in_scope(c) || c == 0x130) continue;
      const QString text = QString::fromUcs4(&c, 1);
      QCOMPARE(test::q(lower_text(text.toStdString())), text.toLower());
      letters += text.toLower() != text ? 1 : 0;
    }
    QVERIFY(letters > 500);
  }

  void white_space_is_trimmed_and_only_at_the_ends() {
    QCOMPARE(trim_text(" \t\r\n\v\f a b\u0085\u00A0\u1680\u2003\u2028\u2029\u202F\u205F\u3000"),
             std::string_view("a b"));
    QCOMPARE(trim_text("\x1c\x1d\x1e\x1f"), std::string_view());
    QCOMPARE(trim_text("\u200Ba\u200B"), std::string_view("\u200Ba\u200B"));
    QCOMPARE(trim_text(""), std::string_view());
  }

  void bytes_that_are_no_text_pass_unchanged() {
    for (const std::string bytes : {"\xFF\xFE", "\xC3", "\xE2\x82", "\xC0\xAF", "\xF4\x90\x80\x80", "\x80z"}) {
      QCOMPARE(lower_text(bytes), bytes);
      QCOMPARE(trim_text(bytes), std::string_view(bytes));
    }
    QCOMPARE(lower_text("\xFFZ\xC3"), std::string("\xFFz\xC3"));
  }

  void ten_thousand_entries_are_read_and_searched() {
    std::string raw;
    for (int i = 0; i < 10000; ++i) raw += " Model" + std::to_string(i) + "Transformer ,,";
    const auto entries = parse_exclusions(raw);
    QCOMPARE(entries.size(), std::size_t{10000});
    QCOMPARE(matched_exclusion(entries, {"P", "MODEL9999Transformer", "x"}), std::string("model9999transformer"));
    QCOMPARE(matched_exclusion(entries, {"P", "Model10000Transformer", "x"}), std::string());
  }
};

QTEST_GUILESS_MAIN(ExclusionsTest)
#include "exclusions_test.moc"
