#include "kusari/framework/kernels/pooling.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kusari/tests/gpu/testing.h"

namespace kusari {
namespace {

using namespace testing;
using kernels::AveragePooling;
using kernels::Pooling;
using kernels::PoolingDivisor;

struct PoolingCase {
  Shape x;
  std::vector<int64_t> ksize, stride, pad;
  bool cover_all = false;

  Pooling pooling() const {
    Pooling p;
    p.ndim = static_cast<int>(ksize.size());
    for (size_t i = 0; i < ksize.size(); ++i) {
      p.ksize[i] = ksize[i];
      p.stride[i] = stride[i];
      p.pad[i] = pad[i];
    }
    return p;
  }
  Shape y() const {
    Shape shape{x[0], x[1]};
    for (size_t i = 0; i < ksize.size(); ++i) {
      const int64_t room = x[static_cast<int>(i) + 2] + 2 * pad[i] - ksize[i] + (cover_all ? stride[i] - 1 : 0);
      shape.push_back(room < 0 ? 0 : room / stride[i] + 1);
    }
    return shape;
  }
};

std::vector<PoolingCase> pooling_cases() {
  std::vector<PoolingCase> all;
  for (const int64_t channels : {1, 3, 8, 20, 64, 257}) {
    all.push_back({{2, channels, 9, 7}, {3, 3}, {2, 2}, {1, 1}});
    all.push_back({{2, channels, 6, 8}, {2, 2}, {2, 2}, {0, 0}});
    all.push_back({{3, channels, 7, 7}, {7, 7}, {7, 7}, {0, 0}});
  }
  // Windows 2 and 3 wide at stride 2, which have a kernel of their own: every parity of sizes and padding.
  for (const int64_t ksize : {2, 3}) {
    for (const int64_t pad : {0, 1, 2}) {
      if (pad >= ksize) continue;
      for (const int64_t size : {3, 4, 5, 6, 8}) {
        all.push_back({{2, 16, size, 7}, {ksize, ksize}, {2, 2}, {pad, 0}});
        all.push_back({{1, 8, 5, size}, {ksize, ksize}, {2, 2}, {1, pad}, true});
      }
    }
  }
  all.push_back({{1, 16, 5, 6}, {3, 3}, {1, 1}, {1, 1}});
  all.push_back({{1, 16, 5, 6}, {2, 3}, {1, 2}, {0, 2}});
  all.push_back({{1, 8, 6, 6}, {3, 3}, {3, 3}, {2, 2}, true});  // windows that lie in the padding alone
  all.push_back({{2, 8, 4, 4}, {1, 1}, {2, 2}, {0, 0}});
  all.push_back({{2, 8, 9, 9}, {5, 5}, {2, 2}, {2, 2}, true});
  all.push_back({{2, 8, 20, 20}, {17, 17}, {1, 1}, {4, 4}});  // places beyond a byte
  all.push_back({{2, 24, 11}, {3}, {2}, {1}});
  all.push_back({{2, 5, 40}, {40}, {40}, {0}});
  all.push_back({{2, 8, 5, 6, 7}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}});
  all.push_back({{2, 3, 4, 4, 4}, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}});
  all.push_back({{1, 8, 3, 4, 3, 4}, {2, 2, 3, 2}, {1, 2, 1, 2}, {1, 0, 1, 0}});
  all.push_back({{0, 8, 4, 4}, {2, 2}, {2, 2}, {0, 0}});
  all.push_back({{2, 0, 4, 4}, {2, 2}, {2, 2}, {0, 0}});
  return all;
}

void check_max(const Device& device, const PoolingCase& c, Dtype dtype, Layout layout) {
  CAPTURE(c.x);
  CAPTURE(c.ksize);
  CAPTURE(dtype);
  CAPTURE(static_cast<int>(layout));
  const Pooling pooling = c.pooling();
  const Dtype index_dtype = pooling_index_dtype(pooling);
  const auto all = [&](const Array& x, const Array& gy, const Array& picked) {
    std::vector<Array> out{result_like(x, c.y(), dtype, layout), result_like(x, c.y(), index_dtype, layout),
                           result_like(x, c.y(), dtype, layout), result_like(x, c.x, dtype, layout),
                           result_like(x, c.y(), dtype, layout)};
    launch<kernels::MaxPoolingForward>(x.device(), pooling, x, out[0], out[1]);
    launch<kernels::MaxPoolingForward>(x.device(), pooling, x, out[2], Array());
    launch<kernels::MaxPoolingGrad>(x.device(), pooling, gy, out[1], out[3]);
    launch<kernels::MaxPoolingPick>(x.device(), pooling, picked, out[1], out[4]);
    return out;
  };
  // Few different numbers, so that there are equal ones in a window.
  const Array x = uniform_array(c.x, -4, 4, Dtype::float32, 1).astype(Dtype::int32).astype(dtype);
  check_on_gpu(device, all, 2, in_layout(x, layout), in_layout(uniform_array(c.y(), -1, 1, dtype, 2), layout),
               in_layout(uniform_array(c.x, -1, 1, dtype, 3), layout));
}

void check_average(const Device& device, const PoolingCase& c, Dtype dtype, Layout layout) {
  CAPTURE(c.x);
  CAPTURE(c.ksize);
  CAPTURE(dtype);
  CAPTURE(static_cast<int>(layout));
  for (const PoolingDivisor divisor : {PoolingDivisor::window, PoolingDivisor::inside, PoolingDivisor::one}) {
    CAPTURE(static_cast<int>(divisor));
    const AveragePooling average{c.pooling(), divisor};
    const auto all = [&](const Array& x, const Array& gy) {
      std::vector<Array> out{result_like(x, c.y(), dtype, layout), result_like(x, c.x, dtype, layout)};
      launch<kernels::AveragePoolingForward>(x.device(), average, x, out[0]);
      launch<kernels::AveragePoolingGrad>(x.device(), average, gy, out[1]);
      return out;
    };
    // Undivided sums of many terms of both signs: an error of the size of the terms.
    check_on_gpu(device, all, divisor == PoolingDivisor::one ? 16 : 2,
                 in_layout(uniform_array(c.x, -1, 1, dtype, 1), layout),
                 in_layout(uniform_array(c.y(), -1, 1, dtype, 2), layout));
  }
}

TEST_CASE("pooling: windows, channels and dtypes") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    for (const PoolingCase& c : pooling_cases()) {
      check_max(*device, c, dtype, Layout::channels_last);
      check_average(*device, c, dtype, Layout::channels_last);
    }
  }
}

TEST_CASE("pooling: any strides") {
  const auto device = gpu_device();
  if (!device) return;
  const PoolingCase c{{2, 8, 9, 7}, {3, 3}, {2, 2}, {1, 1}};
  for (const Layout layout : kLayouts) {
    check_max(*device, c, Dtype::float16, layout);
    check_average(*device, c, Dtype::float32, layout);
  }
}

TEST_CASE("pooling: NaN and infinities") {
  const auto device = gpu_device();
  if (!device) return;
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Array x =
      array<double>({-inf, -inf, 1, nan, nan, inf, 2, 3, -inf, 4, inf, nan, nan, -inf, -inf, -inf}, {1, 1, 4, 4});
  const Pooling pooling = PoolingCase{{1, 1, 4, 4}, {2, 2}, {1, 1}, {0, 0}}.pooling();
  const auto largest = [&](const Array& in) {
    std::vector<Array> out{empty({1, 1, 3, 3}, in.dtype(), in.device()),
                           empty({1, 1, 3, 3}, Dtype::uint8, in.device())};
    launch<kernels::MaxPoolingForward>(in.device(), pooling, in, out[0], out[1]);
    return out;
  };
  for (const Dtype dtype : kFloatingDtypes) check_on_gpu(*device, largest, 0, x.astype(dtype));
}

}  // namespace
}  // namespace kusari
