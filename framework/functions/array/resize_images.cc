#include "kusari/framework/functions/array/resize_images.h"

#include <algorithm>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/sampling.h"

namespace kusari::functions {
namespace {

/// x: (N, C, H, W) resized to `size`.
class ResizeImages final : public FunctionNode {
 public:
  ResizeImages(const Dims& size, const kernels::Resize& resize) : size_{size}, resize_{resize} {}
  const char* name() const override { return "resize_images"; }
  void describe(Attributes& options) const override {
    options.set("output_shape", size_);
    options.set("mode", resize_.nearest ? "nearest" : "bilinear");
    options.set("align_corners", resize_.align_corners);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.is_floating(), x.ndim() == 4, x.shape(2) > 0, x.shape(3) > 0);
  }
  Arrays forward(const ArrayRefs& in) override {
    const Array& x = in[0];
    const Array y = empty_channels_last({x.shape()[0], x.shape()[1], size_[0], size_[1]}, x.dtype(), x.device());
    launch<kernels::ResizeImages>(x.device(), resize_, x, y);
    return {y};
  }
  Variables backward(const Variables& gy) override;

  Dims size_;
  kernels::Resize resize_;
};

/// gy: (N, C, h, w) gathered into images of `size`: linear, and ResizeImages is its own gradient's gradient.
class ResizeImagesGrad final : public FunctionNode {
 public:
  ResizeImagesGrad(const Dims& size, const kernels::Resize& resize) : size_{size}, resize_{resize} {}
  const char* name() const override { return "resize_images_grad"; }
  void describe(Attributes& options) const override {
    options.set("output_shape", size_);
    options.set("mode", resize_.nearest ? "nearest" : "bilinear");
    options.set("align_corners", resize_.align_corners);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    const Array& gy = in[0];
    const Array gx = empty_channels_last({gy.shape()[0], gy.shape()[1], size_[0], size_[1]}, gy.dtype(), gy.device());
    launch<kernels::ResizeImagesGrad>(gy.device(), resize_, gy, gx);
    return {gx};
  }
  Variables backward(const Variables& ggx) override {
    const Shape& shape = input_shape(0);
    return {apply<ResizeImages>({ggx[0]}, Dims(shape.begin() + 2, shape.end()), resize_)};
  }

  Dims size_;
  kernels::Resize resize_;
};

Variables ResizeImages::backward(const Variables& gy) {
  const Shape& shape = input_shape(0);
  return {apply<ResizeImagesGrad>({gy[0]}, Dims(shape.begin() + 2, shape.end()), resize_)};
}

}  // namespace

Variable resize_images(const Variable& x, const Dims& output_shape, const ResizeImagesOptions& options) {
  const bool valid = output_shape.ndim() == 2 && std::min(output_shape[0], output_shape[1]) > 0;
  if (!valid) {
    throw ValueError("F::resize_images: output_shape is " + to_string(output_shape) +
                     ": it must be a positive height and a positive width");
  }
  const kernels::Resize resize{.nearest = options.mode == ResizeMode::nearest, .align_corners = options.align_corners};
  return apply<ResizeImages>({x}, output_shape, resize);
}

}  // namespace kusari::functions
