#include "kusari/framework/functions/array/im2col.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

constexpr int kMaxSpatialAxes = (kMaxNdim - 2) / 2;

/// How patches lie over images, one number per spatial axis.
struct Patches {
  Dims ksize, stride, pad, dilate;
  Dims out;  // patches along each axis

  int ndim() const noexcept { return ksize.ndim(); }
  void describe(Attributes& options) const {
    options.set("ksize", ksize);
    options.set("stride", stride);
    options.set("pad", pad);
    options.set("dilate", dilate);
    options.set("out", out);
  }
};

/// Positions along one axis whose element lies inside the image: out positions begin .. begin + count, reading elements
/// start, start + stride, ...
struct Range {
  int64_t begin, count, start;
};

Range inside(const Patches& p, int axis, int64_t k, int64_t size) {
  const int64_t stride = p.stride[axis], shift = k * p.dilate[axis] - p.pad[axis];  // element = stride * out + shift
  const int64_t begin = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const int64_t behind = size > shift ? (size - shift - 1) / stride + 1 : 0;
  return {begin, std::min(behind, p.out[axis]) - begin, stride * begin + shift};
}

/// Calls body(elements, columns) for each place in a patch, with the views of x: (N, C, size...) and
/// col: (N, C, ksize..., out...) that belong together.
template <class Body>
void for_each_place(const Patches& p, const Array& x, const Array& col, const Body& body) {
  Dims place = Dims::filled(p.ndim(), 0);
  for (int64_t remaining = numel(p.ksize); remaining > 0; --remaining) {
    Array elements = x, columns = col;
    for (int axis = 0; axis < p.ndim(); ++axis) columns = columns.slice(2, place[axis], 1).squeeze(2);
    bool any = true;
    for (int axis = 0; axis < p.ndim() && any; ++axis) {
      const Range range = inside(p, axis, place[axis], x.shape()[2 + axis]);
      any = range.count > 0;
      if (!any) break;
      elements = elements.slice(2 + axis, range.start, range.count, p.stride[axis]);
      columns = columns.slice(2 + axis, range.begin, range.count);
    }
    if (any) body(elements, columns);
    for (int axis = p.ndim() - 1; axis >= 0 && ++place[axis] == p.ksize[axis]; --axis) place[axis] = 0;
  }
}

/// (N, C, sizes...) with more axes behind.
Shape joined(int64_t n, int64_t c, const Dims& a, const Dims& b = {}) {
  Shape shape{n, c};
  for (const int64_t size : a) shape.push_back(size);
  for (const int64_t size : b) shape.push_back(size);
  return shape;
}

class Col2im;

/// x: (N, C, in...) to (N, C, ksize..., out...).
class Im2col final : public FunctionNode {
 public:
  explicit Im2col(const Patches& patches) : patches_{patches} {}
  const char* name() const override { return "im2col"; }
  void describe(Attributes& options) const override { patches_.describe(options); }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.is_floating(), x.ndim() == 2 + patches_.ndim());
  }
  Arrays forward(const ArrayRefs& in) override {
    // In C order rows of pixels are copied whole; with channels innermost, the elements of a patch lie between them.
    const Array x = in[0].contiguous();
    const Array col = empty(joined(x.shape()[0], x.shape()[1], patches_.ksize, patches_.out), x.dtype(), x.device());
    if (reaches_outside(x.shape())) col.fill(0);
    for_each_place(patches_, x, col, [](const Array& elements, const Array& columns) { columns.copy_from(elements); });
    return {col};
  }
  Variables backward(const Variables& gy) override;

  bool reaches_outside(const Shape& shape) const {
    for (int axis = 0; axis < patches_.ndim(); ++axis) {
      for (const int64_t k : {int64_t{0}, patches_.ksize[axis] - 1}) {
        if (inside(patches_, axis, k, shape[2 + axis]).count < patches_.out[axis]) return true;
      }
    }
    return false;
  }

  Patches patches_;
};

/// col: (N, C, ksize..., out...) to (N, C, size...).
class Col2im final : public FunctionNode {
 public:
  Col2im(const Patches& patches, const Dims& size) : patches_{patches}, size_{size} {}
  const char* name() const override { return "col2im"; }
  void describe(Attributes& options) const override {
    patches_.describe(options);
    options.set("size", size_);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [col] = c.args("col");
    c.expect(col.is_floating());
  }
  Arrays forward(const ArrayRefs& in) override {
    const Array col = in[0].contiguous();
    const Dtype dtype = col.dtype();
    const Array x =
        zeros(joined(col.shape()[0], col.shape()[1], size_), is_half(dtype) ? Dtype::float32 : dtype, col.device());
    for_each_place(patches_, x, col, [](const Array& elements, const Array& columns) {
      pointwise_to(elements, kernels::Add{}, elements, columns);
    });
    return {x.astype(dtype).channels_last()};
  }
  Variables backward(const Variables& gx) override { return {apply<Im2col>({gx[0]}, patches_)}; }

  Patches patches_;
  Dims size_;
};

Variables Im2col::backward(const Variables& gy) {
  const Shape& shape = input_shape(0);
  return {apply<Col2im>({gy[0]}, patches_, Dims(shape.begin() + 2, shape.end()))};
}

void require(bool holds, const char* call, const char* argument, const Dims& values, const char* rule) {
  if (!holds) throw ValueError(std::string(call) + ": " + argument + " is " + to_string(values) + ": " + rule);
}

bool all_at_least(const Dims& values, int64_t least) {
  return std::all_of(values.begin(), values.end(), [&](int64_t value) { return value >= least; });
}

void check_options(const char* call, const Patches& p) {
  require(all_at_least(p.ksize, 1), call, "ksize", p.ksize, "it must be at least 1");
  require(all_at_least(p.stride, 1), call, "stride", p.stride, "it must be at least 1");
  require(all_at_least(p.pad, 0), call, "pad", p.pad, "it must not be negative");
  require(all_at_least(p.dilate, 1), call, "dilate", p.dilate, "it must be at least 1");
  const std::pair<const char*, const Dims*> options[] = {
      {"ksize", &p.ksize}, {"stride", &p.stride}, {"pad", &p.pad}, {"dilate", &p.dilate}};
  for (const auto& [name, numbers] : options) {
    const bool fits = std::ranges::all_of(*numbers, [](int64_t n) { return n <= std::numeric_limits<int32_t>::max(); });
    require(fits, call, name, *numbers, "it must be less than 2^31");
  }
}

void check_spatial_axes(const char* call, const char* argument, const Shape& shape, bool fits) {
  if (fits) return;
  throw TypeError(std::string(call) + ": " + argument + " has shape " + to_string(shape) + ": it must have one to " +
                  std::to_string(kMaxSpatialAxes) + " spatial axes");
}

}  // namespace

Variable im2col(const Variable& x, const PerAxis& ksize, const Im2colOptions& options) {
  expect_given(x, "F::im2col", "x");

  const char* const call = "F::im2col";
  const int ndim = x.ndim() - 2;
  check_spatial_axes(call, "x", x.shape(), ndim >= 1 && ndim <= kMaxSpatialAxes);
  Patches p{ksize.resolve(ndim, call, "ksize"), options.stride.resolve(ndim, call, "stride"),
            options.pad.resolve(ndim, call, "pad"), options.dilate.resolve(ndim, call, "dilate"), Dims()};
  check_options(call, p);
  for (int axis = 0; axis < ndim; ++axis) {
    const int64_t room = x.shape()[2 + axis] + 2 * p.pad[axis] - (p.ksize[axis] - 1) * p.dilate[axis] - 1;
    const int64_t reach = room + (options.cover_all ? p.stride[axis] - 1 : 0);
    if (reach < 0) {
      throw ValueError(std::string(call) + ": x has shape " + to_string(x.shape()) + " and pad is " + to_string(p.pad) +
                       ": there is no place for a patch of ksize " + to_string(p.ksize) + " with dilate " +
                       to_string(p.dilate));
    }
    p.out.push_back(reach / p.stride[axis] + 1);
  }
  return reshape(apply<Im2col>({x}, p), joined(x.shape()[0], x.shape()[1] * numel(p.ksize), p.out));
}

Variable col2im(const Variable& col, const PerAxis& size, const Col2imOptions& options) {
  expect_given(col, "F::col2im", "col");

  const char* const call = "F::col2im";
  const int ndim = col.ndim() / 2 - 1;
  check_spatial_axes(call, "col", col.shape(), ndim >= 1 && col.ndim() % 2 == 0);
  const Shape& shape = col.shape();
  const Patches p{Dims(shape.begin() + 2, shape.begin() + 2 + ndim), options.stride.resolve(ndim, call, "stride"),
                  options.pad.resolve(ndim, call, "pad"), options.dilate.resolve(ndim, call, "dilate"),
                  Dims(shape.begin() + 2 + ndim, shape.end())};
  check_options(call, p);
  const Dims image = size.resolve(ndim, call, "size");
  require(all_at_least(image, 0), call, "size", image, "it must not be negative");
  return apply<Col2im>({col}, p, image);
}

}  // namespace kusari::functions
