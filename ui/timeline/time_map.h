// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>

namespace attn::ui {

/// Which part of a run is seen, and where: seconds or call numbers to pixels and back. Plain numbers, no widget.
class TimeMap {
 public:
  /// What there is, from 0, and the smallest part worth a look.
  void set_data(double end, double least) noexcept {
    const bool whole = shows_all();
    data_end_ = std::max(end, least);
    least_ = least;
    if (whole) fit();
  }
  void set_pixels(double left, double width) noexcept {
    left_ = left;
    width_ = std::max(1.0, width);
  }

  [[nodiscard]] double begin() const noexcept { return begin_; }
  [[nodiscard]] double end() const noexcept { return end_; }
  [[nodiscard]] double span() const noexcept { return end_ - begin_; }
  [[nodiscard]] double data_end() const noexcept { return data_end_; }
  [[nodiscard]] double left() const noexcept { return left_; }
  [[nodiscard]] double right() const noexcept { return left_ + width_; }
  [[nodiscard]] bool shows_all() const noexcept { return begin_ <= 0.0 && end_ >= data_end_; }
  /// The newest is in view.
  [[nodiscard]] bool shows_end() const noexcept { return end_ >= data_end_; }

  [[nodiscard]] double x_of(double at) const noexcept { return left_ + (at - begin_) / span() * width_; }
  [[nodiscard]] double at(double x) const noexcept { return begin_ + (x - left_) / width_ * span(); }
  [[nodiscard]] double per_pixel() const noexcept { return span() / width_; }

  void fit() noexcept {
    begin_ = 0.0;
    end_ = data_end_;
  }
  /// Sees `factor` of what it sees, with what is at `x` staying there.
  void zoom(double factor, double x) noexcept {
    const double still = at(std::clamp(x, left_, right()));
    const double wanted = std::clamp(span() * factor, std::min(least_, data_end_), data_end_);
    const double share = (still - begin_) / span();
    show(still - share * wanted, wanted);
  }
  void pan(double pixels) noexcept { show(begin_ + pixels * per_pixel(), span()); }
  /// Moves by as little as brings the part into view; one that is larger begins where it begins.
  void reveal(double from, double to) noexcept {
    if (from < begin_) {
      show(from, span());
    } else if (to > end_) {
      show(std::min(from, to - span()), span());
    }
  }
  void go_to_end() noexcept { show(data_end_ - span(), span()); }
  void go_to_begin() noexcept { show(0.0, span()); }

 private:
  void show(double begin, double span) noexcept {
    begin_ = std::clamp(begin, 0.0, std::max(0.0, data_end_ - span));
    end_ = begin_ + span;
  }

  double data_end_ = 1.0;
  double least_ = 1.0;
  double begin_ = 0.0;
  double end_ = 1.0;
  double left_ = 0.0;
  double width_ = 1.0;
};

}  // namespace attn::ui
