// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/runtime/transfer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace attn::cuda {
namespace {

constexpr std::int64_t kRowAlignment = 16;  // bytes; what the kernels and cuDNN load at once

std::int64_t element_bytes(const TensorView& view) noexcept { return static_cast<std::int64_t>(size_of(view.dtype)); }

/// Elements from the first to the last that the view reaches; all strides not negative.
std::int64_t span_of(const TensorView& view) noexcept {
  std::int64_t last = 0;
  for (int i = 0; i < view.rank; ++i) last += (view.size(i) - 1) * view.step(i);
  return last + 1;
}

bool leading_dims_fold(const TensorView& view) noexcept {
  return view.rank < 5 || view.size(0) == 1 || view.size(1) == 1 || view.step(0) == view.size(1) * view.step(1);
}

/// Whether the memory may go as it lies.
bool goes_as_it_lies(const TensorView& view) noexcept {
  if (!leading_dims_fold(view)) return false;
  if (view.size(-1) > 1 && view.step(-1) != 1) return false;
  for (int i = 0; i < view.rank; ++i) {
    if (view.size(i) == 1) continue;
    if (view.step(i) < 0) return false;
    if (i + 1 != view.rank && view.step(i) * element_bytes(view) % kRowAlignment != 0) return false;
  }
  return span_of(view) <= view.elements() + view.elements() / 4;
}

/// Calls `body` with the offset of every row of the last dim, in order.
template <class Body>
void for_rows(const TensorView& view, int dim, std::int64_t offset, const Body& body) {
  if (dim + 1 >= view.rank) {
    body(offset);
    return;
  }
  for (std::int64_t i = 0; i < view.size(dim); ++i) for_rows(view, dim + 1, offset + i * view.step(dim), body);
}

template <class Copy>
void walk(const TensorView& view, const Copy& copy) {
  if (view.elements() == 0) return;
  const std::int64_t bytes = element_bytes(view);
  const std::int64_t columns = view.size(-1);
  const std::int64_t step = view.step(-1);
  auto* base = static_cast<std::byte*>(view.data);
  std::int64_t at = 0;
  for_rows(view, 0, 0, [&](std::int64_t offset) {
    if (step == 1 || columns == 1) {
      copy(base + offset * bytes, at, columns * bytes);
    } else {
      for (std::int64_t j = 0; j < columns; ++j) copy(base + (offset + j * step) * bytes, at + j * bytes, bytes);
    }
    at += columns * bytes;
  });
}

TensorView packed_view(const TensorView& like, DType dtype, void* data) {
  TensorView view = TensorView::contiguous(like.sizes(), dtype, like.device);
  view.data = data;
  return view;
}

}  // namespace

TensorView view_after_upload(const TensorView& view) {
  if (!goes_as_it_lies(view)) return packed_view(view, view.dtype, nullptr);
  TensorView kept = view;
  kept.data = nullptr;
  return kept;
}

void pack(const TensorView& view, void* to) {
  walk(view, [to](const std::byte* element, std::int64_t at, std::int64_t bytes) {
    std::memcpy(static_cast<std::byte*>(to) + at, element, static_cast<std::size_t>(bytes));
  });
}

void scatter(const void* from, const TensorView& view) {
  walk(view, [from](std::byte* element, std::int64_t at, std::int64_t bytes) {
    std::memcpy(element, static_cast<const std::byte*>(from) + at, static_cast<std::size_t>(bytes));
  });
}

std::string subject_text(std::string_view name, const TensorView& view) {
  std::string text(name);
  text += " (";
  for (int i = 0; i < view.rank; ++i) text += (i == 0 ? "" : ", ") + std::to_string(view.size(i));
  return text + ")";
}

Expected<DeviceCopy> Transfer::upload(const TensorView& view, std::string_view name) {
  const Subject subject = [&] { return subject_text(name, view); };
  const bool as_it_lies = goes_as_it_lies(view);
  const std::int64_t bytes = view.elements() == 0 ? 0 : as_it_lies ? span_of(view) * element_bytes(view) : view.bytes();
  Expected<DeviceBuffer> buffer = pool_.get(bytes, subject);
  if (!buffer) return fail(buffer.error());
  DeviceCopy copy{std::move(*buffer), {}};
  copy.view = view_after_upload(view);
  copy.view.data = copy.buffer.data();
  if (bytes == 0) return copy;
  const void* source = view.data;
  if (!as_it_lies) {
    staged_.push_back(HostBuffer::unset(static_cast<std::size_t>(bytes)));
    pack(view, staged_.back().data());
    source = staged_.back().data();
  }
  if (const auto queued = device_.copy_in(copy.buffer.data(), source, bytes, subject); !queued) {
    return fail(queued.error());
  }
  return copy;
}

Expected<DeviceBuffer> Transfer::send_bytes(std::span<const std::byte> bytes, const Subject& subject) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  Expected<DeviceBuffer> buffer = pool_.get(size, subject);
  if (!buffer || size == 0) return buffer;
  staged_.push_back(HostBuffer::unset(bytes.size()));
  std::memcpy(staged_.back().data(), bytes.data(), bytes.size());
  const auto queued = device_.copy_in(buffer->data(), staged_.back().data(), size, subject);
  if (!queued) return fail(queued.error());
  return buffer;
}

Expected<DeviceCopy> Transfer::make(const TensorView& view, DType dtype, std::string_view name) {
  const TensorView packed = packed_view(view, dtype, nullptr);
  Expected<DeviceBuffer> buffer = pool_.get(packed.bytes(), [&] { return subject_text(name, view); });
  if (!buffer) return fail(buffer.error());
  DeviceCopy copy{std::move(*buffer), packed};
  copy.view.data = copy.buffer.data();
  return copy;
}

Expected<void> Transfer::download(const DeviceCopy& from, const TensorView& view, std::string_view name) {
  const std::int64_t bytes = view.bytes();
  if (bytes == 0) return {};
  void* to = view.data;
  if (!view.is_contiguous()) {
    HostBuffer packed = HostBuffer::unset(static_cast<std::size_t>(bytes));
    to = packed.data();
    scatters_.push_back({std::move(packed), view});
  }
  return device_.copy_out(to, from.buffer.data(), bytes, [&] { return subject_text(name, view); });
}

Expected<void> Transfer::finish(std::string_view name) {
  Expected<void> finished = device_.finish([name] { return std::string(name); });
  if (finished) {
    for (const Scatter& one : scatters_) scatter(one.packed.data(), one.to);
  }
  scatters_.clear();
  staged_.clear();
  return finished;
}

}  // namespace attn::cuda
