// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/runtime/pinned_buffer.h"
#include "backends/cuda/runtime/step_cell.h"
#include "backends/cuda/runtime/transfer.h"
#include "core/tensor/half.h"
#include "cuda/host_device.h"

#include <QTest>
#include <numeric>

namespace attn::test {

QString q(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

const cuda::Subject kThing = [] { return std::string("a thing"); };
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// Element i of the packed order has the value i.
HostTensor counted(std::initializer_list<std::int64_t> shape) {
  const std::vector<std::int64_t> sizes(shape);
  HostTensor tensor(sizes, DType::float32);
  auto* values = static_cast<float*>(tensor.view().data);
  std::iota(values, values + tensor.view().elements(), 0.0F);
  return tensor;
}

std::vector<float> elements(const TensorView& view) {
  std::vector<float> values(static_cast<std::size_t>(view.elements()));
  cuda::pack(view, values.data());
  return values;
}

class RuntimeTest : public QObject {
  Q_OBJECT

 private slots:
  void sizes_are_written_as_people_read_them() {
    QCOMPARE(q(cuda::bytes_text(512)), QString("512 bytes"));
    QCOMPARE(q(cuda::bytes_text(226 * kMiB)), QString("226 MiB"));
    QCOMPARE(q(cuda::bytes_text(1536 * kMiB)), QString("1.5 GiB"));
    QCOMPARE(q(cuda::bytes_text(2048 * kMiB)), QString("2 GiB"));
  }

  void memory_is_kept_for_the_next_call_up_to_the_bound() {
    HostDevice device;
    cuda::DevicePool pool(device, 8 * kMiB);
    {
      const auto first = pool.get(4 * kMiB, kThing);
      QVERIFY(first.has_value() && first->capacity() == 4 * kMiB);
    }
    QCOMPARE(pool.kept_bytes(), 4 * kMiB);
    {
      const auto again = pool.get(4 * kMiB - 1, kThing);
      QVERIFY(again.has_value());
      QCOMPARE(device.used["cudaMalloc"], 1);
      const auto small = pool.get(1000, kThing);
      QCOMPARE(small->capacity(), std::int64_t{1024});
      const auto large = pool.get(6 * kMiB, kThing);
      QVERIFY(large.has_value());
    }
    QVERIFY(pool.kept_bytes() <= 8 * kMiB);
    QCOMPARE(device.live_bytes, pool.kept_bytes());
    { QVERIFY(pool.get(100 * kMiB, kThing).has_value()); }
    QVERIFY(pool.kept_bytes() <= 8 * kMiB);
    QVERIFY(pool.get(0, kThing)->data() == nullptr);
  }

  void a_small_call_does_not_take_a_large_buffer() {
    HostDevice device;
    cuda::DevicePool pool(device, 64 * kMiB);
    { QVERIFY(pool.get(32 * kMiB, kThing).has_value()); }
    const auto small = pool.get(2 * kMiB, kThing);
    QCOMPARE(small->capacity(), 2 * kMiB);
    QCOMPARE(pool.kept_bytes(), 32 * kMiB);
  }

  void kept_memory_is_given_back_before_the_device_is_out_of_memory() {
    HostDevice device;
    device.limit_bytes = 10 * kMiB;
    cuda::DevicePool pool(device, 8 * kMiB);
    { QVERIFY(pool.get(6 * kMiB, kThing).has_value()); }
    const auto large = pool.get(8 * kMiB, kThing);
    QVERIFY(large.has_value());
    QCOMPARE(pool.kept_bytes(), std::int64_t{0});
    const auto more = pool.get(4 * kMiB, kThing);
    QVERIFY(!more.has_value());
    QCOMPARE(q(more.error()), QString("cudaMalloc of a thing: out of memory, 4 MiB wanted, 2 MiB free"));
  }

  void a_pool_leaves_nothing_behind() {
    HostDevice device;
    {
      cuda::DevicePool pool(device, 64 * kMiB);
      auto a = pool.get(kMiB, kThing);
      cuda::DeviceBuffer b = std::move(*a);
      *a = std::move(b);
      QVERIFY(a->data() != nullptr);
    }
    QCOMPARE(device.live_bytes, std::int64_t{0});
  }

  void pinned_memory_and_the_step_cell_go_with_their_owners() {
    HostDevice device;
    {
      auto pinned = cuda::PinnedBuffer::create(device, 4096, kThing);
      QVERIFY(pinned.has_value());
      cuda::PinnedBuffer moved = std::move(*pinned);
      QVERIFY(moved.data() != nullptr);
      cuda::DevicePool pool(device, 0);
      auto cell = cuda::StepCell::create(device, pool);
      QVERIFY(cell.has_value());
      for (const std::int32_t step : {3, 4}) {
        QVERIFY(cell->set(device, step).has_value());
        QCOMPARE(*cell->device_address(), step);
      }
    }
    QCOMPARE(device.live_bytes, std::int64_t{0});
  }

  void views_of_any_strides_arrive_as_they_are_read_data() {
    QTest::addColumn<QString>("layout");
    QTest::addColumn<bool>("as_it_lies");
    for (const auto& [layout, kept] : std::initializer_list<std::pair<const char*, bool>>{{"packed", true},
                                                                                          {"transposed", true},
                                                                                          {"expanded", true},
                                                                                          {"every other row", false},
                                                                                          {"reversed", false},
                                                                                          {"columns apart", false},
                                                                                          {"odd rows", true},
                                                                                          {"rank 5 that folds", true},
                                                                                          {"rank 5", false},
                                                                                          {"empty", false}}) {
      QTest::newRow(layout) << layout << kept;
    }
  }
  void views_of_any_strides_arrive_as_they_are_read() {
    QFETCH(QString, layout);
    QFETCH(bool, as_it_lies);
    HostTensor memory = counted({2, 6, 8, 16});
    const TensorView all = memory.view();
    TensorView view = all;
    if (layout == "transposed") {
      view.shape = {2, 8, 6, 16};
      view.stride = {6 * 8 * 16, 16, 8 * 16, 1};
    } else if (layout == "expanded") {
      view.shape = {2, 40, 8, 16};
      view.stride = {6 * 8 * 16, 0, 16, 1};
      view.shape[0] = 1;
    } else if (layout == "every other row") {
      view.shape = {2, 6, 4, 16};
      view.stride[2] = 32;
    } else if (layout == "reversed") {
      view.stride[2] = -16;
      view.data = static_cast<float*>(view.data) + 7 * 16;
    } else if (layout == "columns apart") {
      view.shape[3] = 8;
      view.stride[3] = 2;
    } else if (layout == "odd rows") {
      view.shape = {2, 6, 8, 15};
      view.stride = {6 * 8 * 15, 8 * 15, 15, 1};
    } else if (layout.startsWith("rank 5")) {
      view.rank = 5;
      view.shape = {2, 2, 3, 8, 16};
      view.stride = {6 * 8 * 16, 3 * 8 * 16, 8 * 16, 16, 1};
      if (layout == "rank 5") {
        view.stride[0] = 3 * 8 * 16;
        view.stride[1] = 6 * 8 * 16;
      }
    } else if (layout == "empty") {
      view.shape[2] = 0;
    }
    HostDevice device;
    cuda::DevicePool pool(device, kMiB);
    cuda::Transfer transfer(device, pool);
    const auto copy = transfer.upload(view, "key");
    QVERIFY(copy.has_value());
    QVERIFY(transfer.finish("the copy").has_value());
    QCOMPARE(elements(copy->view), elements(view));
    QCOMPARE(copy->view.stride == view.stride, as_it_lies);
    if (layout == "expanded") QVERIFY(copy->buffer.capacity() <= 2048);  // one head, not forty
  }

  void a_result_reaches_a_view_of_any_strides() {
    HostDevice device;
    cuda::DevicePool pool(device, kMiB);
    cuda::Transfer transfer(device, pool);
    HostTensor result = counted({1, 2, 3, 4});
    const auto on_device = transfer.upload(result.view(), "output");
    HostTensor memory({1, 3, 2, 4}, DType::float32);
    TensorView view = memory.view();
    view.shape = {1, 2, 3, 4};
    view.stride = {24, 4, 8, 1};
    QVERIFY(transfer.download(*on_device, view, "output").has_value());
    QVERIFY(transfer.finish("the copy").has_value());
    QCOMPARE(elements(view), elements(result.view()));
    QCOMPARE(static_cast<float*>(memory.view().data)[4], 12.0F);
  }

  void an_error_names_the_tensor() {
    HostDevice device;
    device.limit_bytes = 1024;
    cuda::DevicePool pool(device, kMiB);
    cuda::Transfer transfer(device, pool);
    const HostTensor large = counted({1, 24, 46, 128});
    const auto copy = transfer.upload(large.view(), "key");
    QVERIFY(!copy.has_value());
    QCOMPARE(q(copy.error()),
             QString("cudaMalloc of key (1, 24, 46, 128): out of memory, 565248 bytes wanted, 1024 bytes free"));
    device.limit_bytes = kMiB;
    device.fail_at["cudaMemcpyAsync"] = 1;
    const auto copied = transfer.upload(large.view(), "key");
    QVERIFY(!copied.has_value());
    QCOMPARE(q(copied.error()), QString("cudaMemcpyAsync of key (1, 24, 46, 128): unspecified launch failure"));
  }

  void a_build_without_a_gpu_opens_none() {
    if (cuda::this_machine().state == cuda::CudaState::ready) QSKIP("this machine has a GPU");
    const auto gpu = cuda::local_gpu(0);
    QVERIFY(!gpu.has_value());
    QCOMPARE(q(gpu.error()), q(cuda::this_machine().sentence));
  }
};

}  // namespace attn::test

QTEST_GUILESS_MAIN(attn::test::RuntimeTest)
#include "runtime_test.moc"
