#include "kusari/framework/functions/connection/shift.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"

namespace kusari::functions {
namespace {

// The part of an axis that stays inside when it moves by `offset`.
struct Overlap {
  int64_t from, to, size;
  Overlap(int64_t axis_size, int64_t offset)
      : from{std::max<int64_t>(-offset, 0)},
        to{std::max<int64_t>(offset, 0)},
        size{std::max<int64_t>(axis_size - std::abs(offset), 0)} {}
};

class Shift final : public FunctionNode {
 public:
  Shift(const Dims& ksize, const Dims& dilate) : ksize_{ksize}, dilate_{dilate} {}
  const char* name() const override { return "shift"; }
  void describe(Attributes& options) const override {
    options.set("ksize", ksize_);
    options.set("dilate", dilate_);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.is_floating(), x.ndim() == 4, x.shape(1) >= ksize_[0] * ksize_[1]);
  }

  Arrays forward(const ArrayRefs& in) override {
    const Array& x = in[0];
    const Array y = empty_channels_last(x.shape(), x.dtype(), x.device());
    y.fill(0);
    const int64_t places = ksize_[0] * ksize_[1], last = places - 1, centre = last / 2, channels = x.shape()[1];
    for (int64_t group = 0; group < places; ++group) {
      const int64_t place = group == centre ? last : group == last ? centre : group;
      const int64_t first = group * (channels / places);
      const int64_t count = group == last ? channels - first : channels / places;
      const Overlap rows(x.shape()[2], (place / ksize_[1] - ksize_[0] / 2) * dilate_[0]);
      const Overlap columns(x.shape()[3], (place % ksize_[1] - ksize_[1] / 2) * dilate_[1]);
      if (rows.size == 0 || columns.size == 0) continue;
      const Array from = x.slice(1, first, count).slice(2, rows.from, rows.size).slice(3, columns.from, columns.size);
      y.slice(1, first, count).slice(2, rows.to, rows.size).slice(3, columns.to, columns.size).copy_from(from);
    }
    return {y};
  }

  Variables backward(const Variables& gy) override {
    return {apply<Shift>({gy[0]}, ksize_, Dims({-dilate_[0], -dilate_[1]}))};
  }

  Dims ksize_, dilate_;
};

}  // namespace

Variable shift(const Variable& x, const PerAxis& ksize, const PerAxis& dilate) {
  constexpr int64_t kMostPlaces = int64_t{1} << 30, kFarthest = int64_t{1} << 32;  // whose products int64 holds
  const Dims k = ksize.resolve(2, "F::shift", "ksize");
  Dims d = dilate.resolve(2, "F::shift", "dilate");
  for (int i = 0; i < 2; ++i) {
    if (k[i] < 1 || k[i] % 2 == 0) throw ValueError("F::shift: ksize is " + to_string(k) + ": it must be odd");
    if (k[i] >= kMostPlaces) throw ValueError("F::shift: ksize is " + to_string(k) + ": it must be below 2^30");
    if (d[i] == 0) throw ValueError("F::shift: dilate is " + to_string(d) + ": it must not be 0");
    d[i] = std::clamp(d[i], -kFarthest, kFarthest);
  }
  return apply<Shift>({x}, k, d);
}

}  // namespace kusari::functions
