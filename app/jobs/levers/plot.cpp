// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/levers/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

namespace attn::app {
namespace {

constexpr double kWidth = 960.0;
constexpr double kHeight = 600.0;
constexpr double kLeft = 86.0;
constexpr double kRight = 40.0;
constexpr double kTop = 92.0;
constexpr double kBottom = 64.0;
/// Above the highest quality that has a number: results equal to the exact one.
constexpr double kExactBand = 34.0;
constexpr double kLetter = 6.4;  // mean width of a letter of 11 pixels
constexpr double kLine = 14.0;

std::string fixed(double value, int decimals = 1) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

std::string short_number(double value) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

std::string xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n') {
      out += c;
    }
  }
  return out;
}

/// What a row is worth on the upward axis; infinite for the exact result.
double quality_of(const LeverRow& row, bool draws) {
  if (draws && row.measure.picture) return row.measure.picture->psnr;
  const double error = row.error();
  return error > 0.0 ? -std::log10(error) : std::numeric_limits<double>::infinity();
}

/// Round steps between two values: 1, 2 or 5 times a power of ten.
std::vector<double> ticks(double low, double high, int most) {
  const double rough = (high - low) / most;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10.0 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough) step = factor * power;
  }
  std::vector<double> at;
  for (double value = std::ceil(low / step) * step; value <= high + step * 1e-9; value += step) at.push_back(value);
  return at;
}

struct Point {
  double x = 0.0;
  double y = 0.0;
  std::size_t row = 0;
};

struct Box {
  double left = 0.0;
  double top = 0.0;
  double right = 0.0;
  double bottom = 0.0;
  [[nodiscard]] bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

class Plot {
 public:
  explicit Plot(const LeverResult& result) : result_(result) {
    for (std::size_t i = 0; i < result.rows.size(); ++i) {
      const LeverRow& row = result.rows[i];
      if (row.state != LeverState::measured || row.error() == std::numeric_limits<double>::infinity()) continue;
      rows_.push_back(i);
      most_time_ = std::max(most_time_, row.relative_time());
      const double quality = quality_of(row, result.header.draws);
      if (!std::isfinite(quality)) continue;
      lowest_ = any_ ? std::min(lowest_, quality) : quality;
      highest_ = any_ ? std::max(highest_, quality) : quality;
      any_ = true;
    }
    if (!any_) lowest_ = highest_ = result.header.draws ? 30.0 : 3.0;
    const double room = std::max((highest_ - lowest_) * 0.08, result.header.draws ? 1.0 : 0.25);
    lowest_ -= room;
    highest_ += room;
    most_time_ *= 1.08;
  }

  std::string svg() {
    out_ =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 600\" width=\"960\" height=\"600\" "
        "font-family=\"sans-serif\" font-size=\"11\" role=\"img\">\n";
    out_ += "<title>" + xml(result_.header.job) + ": time against quality</title>\n";
    out_ += "<rect width=\"960\" height=\"600\" fill=\"#ffffff\"/>\n";
    heading();
    axes();
    front();
    marks();
    return out_ + "</svg>\n";
  }

 private:
  [[nodiscard]] double x_of(double time) const { return kLeft + time / most_time_ * (kWidth - kLeft - kRight); }
  [[nodiscard]] double y_of(double quality) const {
    if (!std::isfinite(quality)) return kTop + kExactBand / 2.0;
    const double top = kTop + kExactBand;
    return top + (highest_ - quality) / (highest_ - lowest_) * (kHeight - kBottom - top);
  }
  [[nodiscard]] Point point_of(std::size_t row) const {
    const LeverRow& one = result_.rows[row];
    return {x_of(one.relative_time()), y_of(quality_of(one, result_.header.draws)), row};
  }

  void text(double x, double y, const std::string& words, const char* more = "") {
    out_ += "<text x=\"" + fixed(x) + "\" y=\"" + fixed(y) + "\" " + more + ">" + xml(words) + "</text>\n";
  }
  void line(double x1, double y1, double x2, double y2, const char* more) {
    out_ += "<line x1=\"" + fixed(x1) + "\" y1=\"" + fixed(y1) + "\" x2=\"" + fixed(x2) + "\" y2=\"" + fixed(y2) +
            "\" " + more + "/>\n";
  }

  void heading() {
    text(kLeft, 28, result_.header.job, "font-size=\"17\" fill=\"#1b1f24\"");
    const LeverRow* exact = result_.baseline();
    const std::string baseline = exact == nullptr || exact->state != LeverState::measured
                                     ? std::string()
                                     : "; exact takes " + short_number(exact->seconds()) + " s, noise " +
                                           fixed(100.0 * result_.noise(*exact)) + " %";
    text(kLeft, 47, "target " + result_.header.target + ", measured on " + result_.header.machine + baseline,
         "fill=\"#4d5661\"");
    if (!result_.mixed.empty()) {
      text(kLeft, 64, "rows of different runs: " + result_.mixed.front(), "fill=\"#a3362a\"");
    } else if (!result_.header.draws) {
      text(kLeft, 64, "time is that of attention alone", "fill=\"#4d5661\"");
    }
  }

  void axes() {
    const double bottom = kHeight - kBottom;
    for (const double time : ticks(0.0, most_time_, 8)) {
      line(x_of(time), kTop, x_of(time), bottom, "stroke=\"#e3e6ea\"");
      text(x_of(time), bottom + 16, short_number(time), "text-anchor=\"middle\" fill=\"#4d5661\"");
    }
    for (const double quality : ticks(lowest_, highest_, 6)) {
      if (!result_.header.draws && quality != std::floor(quality)) continue;  // whole powers of ten
      line(kLeft, y_of(quality), kWidth - kRight, y_of(quality), "stroke=\"#e3e6ea\"");
      const std::string label = result_.header.draws ? short_number(quality) : "1e" + fixed(-quality, 0);
      text(kLeft - 8, y_of(quality) + 4, label, "text-anchor=\"end\" fill=\"#4d5661\"");
    }
    out_ += "<rect x=\"" + fixed(kLeft) + "\" y=\"" + fixed(kTop) + "\" width=\"" + fixed(kWidth - kLeft - kRight) +
            "\" height=\"" + fixed(kExactBand) + "\" fill=\"#eef5ee\"/>\n";
    text(kLeft - 8, kTop + kExactBand / 2.0 + 4, "exact", "text-anchor=\"end\" fill=\"#2f6b3a\"");
    line(kLeft, bottom, kWidth - kRight, bottom, "stroke=\"#4d5661\"");
    line(kLeft, kTop, kLeft, bottom, "stroke=\"#4d5661\"");
    line(x_of(1.0), kTop, x_of(1.0), bottom, "stroke=\"#9aa3ad\" stroke-dasharray=\"2 3\"");
    text((kLeft + kWidth - kRight) / 2.0, kHeight - 20, "time, as a share of exact attention's: left is faster",
         "text-anchor=\"middle\" font-size=\"12\" fill=\"#1b1f24\"");
    const std::string axis = result_.header.draws ? "PSNR in dB: up is closer" : "relative L1: up is closer";
    out_ += "<text transform=\"translate(22 " + fixed((kTop + bottom) / 2.0) +
            ") rotate(-90)\" text-anchor=\"middle\" font-size=\"12\" fill=\"#1b1f24\">" + axis + "</text>\n";
  }

  void front() {
    std::string points;
    for (const std::size_t row : pareto_front(result_)) {
      const bool drawn = std::find(rows_.begin(), rows_.end(), row) != rows_.end();
      if (!drawn) continue;
      front_.push_back(row);
      const Point point = point_of(row);
      points += (points.empty() ? "" : " ") + fixed(point.x) + "," + fixed(point.y);
    }
    out_ +=
        "<polyline id=\"pareto\" points=\"" + points + "\" fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"1.6\"/>\n";
  }

  /// Finds free room for a name beside its mark, nearest first. False: there is none, and the mark has only its
  /// tooltip.
  [[nodiscard]] bool place(const Point& point, double width, Box& box) const {
    for (const double down : {0.0, -1.0, 1.0, -2.0, 2.0, -3.0, 3.0}) {
      for (const bool right : {true, false}) {
        const double left = right ? point.x + 8.0 : point.x - 8.0 - width;
        const double top = point.y + down * kLine - kLine / 2.0;
        const Box wanted{left, top, left + width, top + kLine};
        const bool inside =
            left > kLeft && wanted.right < kWidth && top > kTop - kLine && wanted.bottom < kHeight - kBottom;
        const bool free = std::none_of(taken_.begin(), taken_.end(), [&](const Box& one) { return one.meets(wanted); });
        if (!inside || !free) continue;
        box = wanted;
        return true;
      }
    }
    return false;
  }

  void marks() {
    for (const std::size_t row : rows_) {
      const Point point = point_of(row);
      taken_.push_back({point.x - 5.0, point.y - 5.0, point.x + 5.0, point.y + 5.0});
    }
    // Names of the front first: they are what people look for.
    std::vector<std::size_t> order = front_;
    for (const std::size_t row : rows_) {
      if (std::find(front_.begin(), front_.end(), row) == front_.end()) order.push_back(row);
    }
    for (const std::size_t row : order) mark(row);
  }

  void mark(std::size_t row) {
    const LeverRow& one = result_.rows[row];
    const Point point = point_of(row);
    const bool best = std::find(front_.begin(), front_.end(), row) != front_.end();
    out_ += "<circle class=\"variant\" cx=\"" + fixed(point.x) + "\" cy=\"" + fixed(point.y) + "\" r=\"4.5\" fill=\"" +
            (best ? "#1f5fa8" : "#ffffff") + "\" stroke=\"" + (best ? "#1f5fa8" : "#7a838d") +
            "\" stroke-width=\"1.4\"><title>" + xml(one.variant.name + ": " + fixed(one.relative_time(), 3)) +
            " of the time, cosine " + fixed(one.worst_cosine(), 6) + "</title></circle>\n";
    Box box;
    if (!place(point, static_cast<double>(one.variant.name.size()) * kLetter, box)) return;
    taken_.push_back(box);
    text(box.left, box.bottom - 3.5, one.variant.name, best ? "fill=\"#1f5fa8\"" : "fill=\"#4d5661\"");
  }

  const LeverResult& result_;
  std::vector<std::size_t> rows_;
  std::vector<std::size_t> front_;
  std::vector<Box> taken_;
  double most_time_ = 1.0;
  double lowest_ = 0.0;
  double highest_ = 0.0;
  bool any_ = false;
  std::string out_;
};

}  // namespace

std::string levers_svg(const LeverResult& result) { return Plot(result).svg(); }

}  // namespace attn::app
