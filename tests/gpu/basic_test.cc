#include "kusari/framework/core/basic_kernels.h"

#include <cstdint>
#include <vector>

#include "kusari/tests/gpu/testing.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

/// Numbers that every dtype holds: small, and none below zero for uint8; bool makes 0 and 1 of them.
Array typed_numbers(const Shape& shape, Dtype dtype) {
  return uniform_array(shape, 0, 100).astype(Dtype::int32).astype(dtype);
}

Array converted(const Array& x, Dtype dtype) {
  const Array y = empty(x.shape(), dtype, x.device());
  y.copy_from(x);
  return y;
}

/// x in another array of the strides that `like` has.
Array copied_into(const Array& x, const Array& like) {
  const Array y = empty_strided(like.shape(), like.strides(), like.dtype(), x.device());
  y.copy_from(x);
  return y;
}

}  // namespace

TEST_CASE("cuda copy: every dtype to every dtype") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype from : kDtypes) {
    for (const Dtype to : kDtypes) {
      CAPTURE(name(from));
      CAPTURE(name(to));
      const auto convert = [&](const Array& x) { return converted(x, to); };
      for (const int64_t n : {0, 1, 7, 1000, 5003}) {
        CAPTURE(n);
        check_on_gpu(*device, convert, 0, typed_numbers({n}, from));
      }
      check_on_gpu(*device, convert, 0, typed_numbers({101}, from).slice(0, 1, 100));  // off the packs' boundaries
      check_on_gpu(*device, convert, 0, typed_numbers({7, 9}, from).transpose());
      check_on_gpu(*device, convert, 0, typed_numbers({33, 47}, from).transpose());
    }
  }
}

TEST_CASE("cuda copy: values that round, overflow or are special") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = array<double>({0.1, -1.0 / 3, 65519.0, 65520.0, 1e-8, 5.9e-8, 1e39, -1e300, INFINITY, -INFINITY, NAN,
                                 -0.0, 2049.0, 2051.0, 257.0, 1e-40});
  for (const Dtype from : kFloatingDtypes) {
    for (const Dtype to : kFloatingDtypes) {
      CAPTURE(name(from));
      CAPTURE(name(to));
      check_on_gpu(
          *device, [&](const Array& a) { return converted(a, to); }, 0, x.astype(from));
    }
    check_on_gpu(
        *device, [](const Array& a) { return converted(a, Dtype::bool_); }, 0, x.astype(from));
  }
  const Array wide = array<int64_t>({-1, 255, 256, 300, INT64_MAX, INT64_MIN, 1LL << 40, (1LL << 24) + 1});
  for (const Dtype to : kDtypes)
    check_on_gpu(
        *device, [&](const Array& a) { return converted(a, to); }, 0, wide);
}

TEST_CASE("cuda copy: transpositions and images to channels-last and back") {
  const auto device = gpu_device();
  if (!device) return;
  const Shape shapes[] = {{64, 64},    {65, 33},      {128, 130},    {16, 17},      {31, 200},
                          {3, 20, 24}, {2, 17, 5, 7}, {2, 64, 6, 6}, {3, 3, 16, 16}};
  for (const Dtype dtype : kDtypes) {
    CAPTURE(name(dtype));
    for (const Shape& shape : shapes) {
      CAPTURE(to_string(shape));
      const Array x = typed_numbers(shape, dtype);
      const auto in_order = [](const Array& a) { return a.contiguous(); };
      check_on_gpu(*device, in_order, 0, x.transpose());
      check_on_gpu(*device, in_order, 0, in_layout(x, Layout::channels_last));
      if (shape.ndim() >= 3) {
        const Array last = in_layout(x, Layout::channels_last);
        check_on_gpu(
            *device, [&](const Array& a) { return copied_into(a, last); }, 0, x);
        check_on_gpu(
            *device, [&](const Array& a) { return converted(a, Dtype::float16); }, 0, last);
        check_on_gpu(*device, in_order, 0, last.slice(1, 1, x.shape(1) - 1));  // pairs off their boundary
      }
    }
  }
}

TEST_CASE("cuda copy: any layout to any layout") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : {Dtype::uint8, Dtype::float16, Dtype::float32, Dtype::int64}) {
    for (const Layout from : kLayouts) {
      for (const Layout to : kWritableLayouts) {
        CAPTURE(name(dtype));
        CAPTURE(static_cast<int>(from));
        CAPTURE(static_cast<int>(to));
        const Array x = typed_numbers({3, 5, 4, 8}, dtype);
        check_on_gpu(
            *device,
            [&](const Array& a) {
              const Array y = in_layout(zeros(a.shape(), dtype, a.device()), to);
              y.copy_from(a);
              return y;
            },
            0, in_layout(x, from));
        check_on_gpu(
            *device,
            [&](const Array& a) {
              const Array y = in_layout(zeros(a.shape(), Dtype::float64, a.device()), to);
              y.copy_from(a);
              return y;
            },
            0, in_layout(x, from));
      }
    }
  }
}

TEST_CASE("cuda copy: parts of arrays, whose surroundings stay") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : {Dtype::uint8, Dtype::float16, Dtype::float32, Dtype::float64}) {
    for (const int64_t start : {0, 1, 4, 8}) {
      CAPTURE(start);
      check_on_gpu(
          *device,
          [&](const Array& a) {
            const Array y = full({6, 64}, 7, dtype, a.device());
            y.slice(1, start, 32).copy_from(a.slice(1, 8, 32));
            y.slice(0, 2, 1).copy_from(a.slice(0, 0, 1));  // one row
            return y;
          },
          0, typed_numbers({6, 64}, dtype));
    }
    check_on_gpu(
        *device,
        [](const Array& a) {
          return a.broadcast_to({4, 6, 64}).contiguous();
        },
        0, typed_numbers({6, 1}, dtype));
  }
}

TEST_CASE("cuda fill: any dtype, layout and size") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kDtypes) {
    for (const Layout layout : kWritableLayouts) {
      for (const Shape& shape : {Shape{0, 3}, Shape{}, Shape{1}, Shape{5, 7}, Shape{2, 3, 5, 7}, Shape{40, 1001}}) {
        CAPTURE(name(dtype));
        CAPTURE(static_cast<int>(layout));
        CAPTURE(to_string(shape));
        check_on_gpu(
            *device,
            [&](const Array& like) {
              const Array y = in_layout(zeros(like.shape(), dtype, like.device()), layout);
              y.fill(53);
              return y;
            },
            0, empty(shape));
      }
    }
    check_on_gpu(
        *device,
        [&](const Array& like) {
          const Array y = zeros({100}, dtype, like.device());
          y.slice(0, 3, 77).fill(2.75);  // neither bound on a boundary of packs
          return y;
        },
        0, empty({1}));
  }
  check_on_gpu(
      *device, [](const Array& like) { return full({9}, INT64_MIN + 3, Dtype::int64, like.device()); }, 0, empty({1}));
}

TEST_CASE("cuda arange: every dtype") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kDtypes) {
    for (const int64_t n : {0, 1, 100, 1000})
      check_on_gpu(
          *device,
          [&](const Array& like) {
            return arange(dtype == Dtype::int8 || dtype == Dtype::uint8 ? n / 8 : n, dtype, like.device());
          },
          0, empty({1}));
  }
}
