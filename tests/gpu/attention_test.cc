#include "kusari/framework/kernels/attention.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/framework/kernels/random.h"
#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

struct AttentionCase {
  int64_t batch, heads, groups, queries, keys, width, value_width;
};
const AttentionCase kAttentionCases[] = {{2, 4, 4, 5, 7, 8, 8},
                                         {1, 6, 2, 9, 9, 16, 24},
                                         {3, 2, 1, 1, 33, 3, 5},
                                         {1, 1, 1, 70, 130, 32, 32},
                                         {2, 2, 2, 12, 5, 4, 4}};

struct AttentionOf {
  kernels::AttentionForm form;
  RandomState state{7, 3};

  std::vector<Array> operator()(const Array& q, const Array& k, const Array& v, const Array& mask, const Array& lengths,
                                const Array& gy) const {
    const Device& device = q.device();
    const Array y = empty(gy.shape(), q.dtype(), device);
    const Dtype wide = q.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
    const Array lse = empty({q.shape()[0], q.shape()[1], q.shape()[2]}, wide, device);
    Array stream;
    if (form.dropout > 0) {
      stream = empty({2}, Dtype::int64, device);
      launch<kernels::RandomPlace>(device, state, stream);
    }
    launch<kernels::Attention>(device, form, q, k, v, mask, lengths, stream, y, lse);
    const Array gq = empty(q.shape(), q.dtype(), device), gk = empty(k.shape(), k.dtype(), device),
                gv = empty(v.shape(), v.dtype(), device);
    launch<kernels::AttentionGradient>(device, form, q, k, v, mask, lengths, y, lse, stream, gy, gq, gk, gv);
    return {y, gq, gk, gv};
  }
};

TEST_CASE("attention: as on the CPU, with its gradients") {
  const auto device = gpu_device();
  if (!device) return;
  for (const AttentionCase& c : kAttentionCases) {
    CAPTURE(c.queries);
    CAPTURE(c.keys);
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      const Array q = uniform_array({c.batch, c.heads, c.queries, c.width}, -1, 1, dtype, 1);
      const Array k = uniform_array({c.batch, c.groups, c.keys, c.width}, -1, 1, dtype, 2);
      const Array v = uniform_array({c.batch, c.groups, c.keys, c.value_width}, -1, 1, dtype, 3);
      const Array gy = uniform_array({c.batch, c.heads, c.queries, c.value_width}, -1, 1, dtype, 4);
      const Shape full{c.batch, c.heads, c.queries, c.keys};
      std::vector<int64_t> counts;
      for (int64_t b = 0; b < c.batch; ++b) counts.push_back(b == 1 ? 0 : c.keys - b);
      const Array lengths = array(counts);
      const Array added = uniform_array({1, c.heads, c.queries, c.keys}, -1, 1, dtype, 5).broadcast_to(full);
      const Array seen = uniform_array({c.batch, 1, c.queries, c.keys}, -1, 2, Dtype::float32, 6)
                             .astype(Dtype::int32)
                             .astype(Dtype::bool_)
                             .broadcast_to(full);
      const double scale = 1 / std::sqrt(static_cast<double>(c.width));
      const double factor = is_half(dtype) ? 4 : 40;
      check_on_gpu(*device, AttentionOf{{scale, 0, false}}, factor, q, k, v, Array(), Array(), gy);
      check_on_gpu(*device, AttentionOf{{scale, 0, true}}, factor, q, k, v, Array(), Array(), gy);
      check_on_gpu(*device, AttentionOf{{2 * scale, 0, false}}, factor, q, k, v, added, lengths, gy);
      check_on_gpu(*device, AttentionOf{{scale, 0, true}}, factor, q, k, v, seen, lengths, gy);
      check_on_gpu(*device, AttentionOf{{scale, 0.3, false}}, factor, q, k, v, Array(), lengths, gy);
      for (const int64_t window : {1, 4, 40, 1000}) {
        CAPTURE(window);
        check_on_gpu(*device, AttentionOf{{scale, 0, true, window}}, factor, q, k, v, Array(), Array(), gy);
        check_on_gpu(*device, AttentionOf{{scale, 0.3, true, window}}, factor, q, k, v, added, lengths, gy);
      }
    }
  }
}

TEST_CASE("attention: gradients of what is added to scores, as on the CPU") {
  const auto device = gpu_device();
  if (!device) return;
  for (const AttentionCase& c : kAttentionCases) {
    CAPTURE(c.queries);
    CAPTURE(c.keys);
    const Shape full{c.batch, c.heads, c.queries, c.keys};
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      for (const Shape& shape : {full, Shape{1, c.heads, c.queries, c.keys}, Shape{c.batch, 1, 1, c.keys},
                                 Shape{c.batch, c.heads, c.queries, 1}, Shape{1, 1, 1, 1}}) {
        CAPTURE(shape);
        for (const kernels::AttentionForm& form :
             {kernels::AttentionForm{0.5, 0, false}, {0.3, 0.25, true}, {0.3, 0, true, 4}}) {
          const auto gradient = [&](const Array& q, const Array& k, const Array& v, const Array& added,
                                    const Array& lengths, const Array& gy) {
            const Dtype wide = dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32;
            const Array y = empty(gy.shape(), dtype, q.device()),
                        lse = empty({c.batch, c.heads, c.queries}, wide, q.device()),
                        gbias = empty(shape, wide, q.device());
            Array stream;
            if (form.dropout > 0) {
              stream = empty({2}, Dtype::int64, q.device());
              launch<kernels::RandomPlace>(q.device(), RandomState{7, 3}, stream);
            }
            const Array mask = added.broadcast_to(full);
            launch<kernels::Attention>(q.device(), form, q, k, v, mask, lengths, stream, y, lse);
            launch<kernels::AttentionBiasGradient>(q.device(), form, q, k, v, mask, lengths, y, lse, stream, gy, gbias);
            return gbias;
          };
          std::vector<int64_t> counts;
          for (int64_t b = 0; b < c.batch; ++b) counts.push_back(b == 1 ? 0 : c.keys - b);
          check_on_gpu(*device, gradient, is_half(dtype) ? 2e5 : 100,  // y is rounded before the gradients read it

                       uniform_array({c.batch, c.heads, c.queries, c.width}, -1, 1, dtype, 1),
                       uniform_array({c.batch, c.groups, c.keys, c.width}, -1, 1, dtype, 2),
                       uniform_array({c.batch, c.groups, c.keys, c.value_width}, -1, 1, dtype, 3),
                       uniform_array(shape, -1, 1, dtype, 5), array(counts),
                       uniform_array({c.batch, c.heads, c.queries, c.value_width}, -1, 1, dtype, 4));
        }
      }
    }
  }
}

TEST_CASE("attention: hidden scores that are a number, as on the CPU") {
  const auto device = gpu_device();
  if (!device) return;
  for (const AttentionCase& c : kAttentionCases) {
    for (const bool is_hidden_where_true : {false, true}) {
      CAPTURE(c.queries);
      CAPTURE(c.keys);
      CAPTURE(is_hidden_where_true);
      const Array mask = uniform_array({c.batch, 1, c.queries, c.keys}, -1, 2, Dtype::float32, 6)
                             .astype(Dtype::int32)
                             .astype(Dtype::bool_)
                             .broadcast_to({c.batch, c.heads, c.queries, c.keys});
      const auto filled = [&](const Array& q, const Array& k, const Array& v, const Array& where, const Array& fill) {
        const Array y = empty({c.batch, c.heads, c.queries, c.value_width}, Dtype::float32, q.device());
        launch<kernels::FilledAttention>(q.device(), kernels::AttentionForm{0.3, 0, false},
                                         kernels::HiddenScores{is_hidden_where_true}, q, k, v, where, fill, y);
        return y;
      };
      check_on_gpu(*device, filled, 40, uniform_array({c.batch, c.heads, c.queries, c.width}, -1, 1, Dtype::float32, 1),
                   uniform_array({c.batch, c.groups, c.keys, c.width}, -1, 1, Dtype::float32, 2),
                   uniform_array({c.batch, c.groups, c.keys, c.value_width}, -1, 1, Dtype::float32, 3), mask,
                   full({}, -0.5, Dtype::float32));
    }
  }
}

TEST_CASE("attention: heads beside each other in memory") {
  const auto device = gpu_device();
  if (!device) return;
  // (batch, places, heads, width), as a linear layer gives them.
  const auto heads = [](int64_t places, uint64_t seed) {
    return uniform_array({2, places, 3, 8}, -1, 1, Dtype::float32, seed).transpose({0, 2, 1, 3});
  };
  check_on_gpu(*device, AttentionOf{{0.4, 0, true}}, 40, heads(6, 1), heads(9, 2), heads(9, 3), Array(), Array(),
               heads(6, 4).contiguous());
}

TEST_CASE("attention: cut into parts as a whole") {
  const auto device = gpu_device();
  if (!device) return;
  // Causal queries are cut at 512.
  const Array q = uniform_array({1, 2, 600, 4}, -1, 1, Dtype::float32, 1),
              k = uniform_array({1, 1, 600, 4}, -1, 1, Dtype::float32, 2),
              v = uniform_array({1, 1, 600, 4}, -1, 1, Dtype::float32, 3),
              gy = uniform_array({1, 2, 600, 4}, -1, 1, Dtype::float32, 4);
  check_on_gpu(*device, AttentionOf{{0.5, 0, true}}, 60, q, k, v, Array(), Array(), gy);
  // Of the second part the first keys are not read.
  const Array mask = uniform_array({1, 1, 600, 600}, -1, 1, Dtype::float32, 5).broadcast_to({1, 2, 600, 600});
  check_on_gpu(*device, AttentionOf{{0.5, 0.2, true, 30}}, 60, q, k, v, mask, array<int64_t>({590}), gy);
}

TEST_CASE("attention to a window: gradients of what is added to scores, cut into parts") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Shape& shape : {Shape{1, 2, 600, 600}, Shape{1, 1, 1, 600}, Shape{1, 2, 600, 1}}) {
    CAPTURE(shape);
    const auto gradient = [&](const Array& q, const Array& k, const Array& v, const Array& added, const Array& gy) {
      const kernels::AttentionForm form{0.5, 0, true, 30};
      const Array y = empty(gy.shape(), Dtype::float32, q.device()),
                  lse = empty({1, 2, 600}, Dtype::float32, q.device()),
                  gbias = empty(shape, Dtype::float32, q.device()), mask = added.broadcast_to({1, 2, 600, 600});
      launch<kernels::Attention>(q.device(), form, q, k, v, mask, Array(), Array(), y, lse);
      launch<kernels::AttentionBiasGradient>(q.device(), form, q, k, v, mask, Array(), y, lse, Array(), gy, gbias);
      return gbias;
    };
    check_on_gpu(*device, gradient, 100, uniform_array({1, 2, 600, 4}, -1, 1, Dtype::float32, 1),
                 uniform_array({1, 1, 600, 4}, -1, 1, Dtype::float32, 2),
                 uniform_array({1, 1, 600, 4}, -1, 1, Dtype::float32, 3),
                 uniform_array(shape, -1, 1, Dtype::float32, 5),
                 uniform_array({1, 2, 600, 4}, -1, 1, Dtype::float32, 4));
  }
}

}  // namespace
}  // namespace kusari::testing
