#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kusari/cuda/libraries/cudnn_graph.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/model/resnet.h"

namespace kusari::cuda {

/// One convolution kernel that a model launches in a step.
struct ModelConvolution {
  ConvolutionPass pass;
  kernels::Convolution geometry;
  Shape x, w, y;
  bool has_bias;
  kernels::ConvolutionActivation activation;

  ConvolutionKey key(int64_t batch, Dtype dtype) const {
    Shape xs = x, ys = y;
    xs[0] = ys[0] = batch;
    ConvolutionKey key = convolution_key(pass, geometry, xs, w, ys, dtype);
    key.has_bias = has_bias;
    key.activation = activation;
    return key;
  }
};

class ConvolutionRecorder final : public LaunchObserver {
 public:
  void on_launch(const Launch& launch, void (*proceed)(const Launch&)) override {
    const std::string_view name = launch.name;
    if (name == kernels::ConvolutionForward::kName) add(ConvolutionPass::forward, launch, 1, 2, 4, 3);
    if (name == kernels::ConvolutionFusedForward::kName) {
      add(ConvolutionPass::forward, launch, 2, 3, 6, 5,
          *static_cast<const kernels::ConvolutionActivation*>(launch.arguments[1].value));
    }
    if (name == kernels::ConvolutionDataGrad::kName) add(ConvolutionPass::data_grad, launch, 4, 2, 1, 3);
    if (name == kernels::ConvolutionFilterGrad::kName) add(ConvolutionPass::filter_grad, launch, 1, 3, 2, 0);
    proceed(launch);
  }
  std::vector<ModelConvolution> found;

 private:
  void add(ConvolutionPass pass, const Launch& launch, size_t x, size_t w, size_t y, size_t bias,
           kernels::ConvolutionActivation activation = kernels::ConvolutionActivation::none) {
    const auto array = [&](size_t i) -> const Array& { return *static_cast<const Array*>(launch.arguments[i].value); };
    const ModelConvolution c = {pass,
                                *static_cast<const kernels::Convolution*>(launch.arguments[0].value),
                                array(x).shape(),
                                array(w).shape(),
                                array(y).shape(),
                                bias != 0 && array(bias).is_defined(),
                                activation};
    for (const ModelConvolution& f : found) {  // each once
      if (f.pass == c.pass && f.x == c.x && f.w == c.w && f.y == c.y && f.has_bias == c.has_bias &&
          f.geometry.stride[0] == c.geometry.stride[0]) {
        return;
      }
    }
    found.push_back(c);
  }
};

/// What one step of training launches: the model runs forward and backward with one image on the processor. Stride and
/// shapes tell the convolutions of one model apart.
template <class Model>
std::vector<ModelConvolution> convolutions_of(Model model, const Shape& image) {
  ConvolutionRecorder recorder;
  const ScopedLaunchObserver scope(recorder);
  Variable loss = functions::sum(model(Variable(full({1, image[0], image[1], image[2]}, 0.5, Dtype::float32), false)));
  loss.backward();
  return recorder.found;
}

inline const std::vector<ModelConvolution>& resnet50_convolutions() {
  static const std::vector<ModelConvolution> found = convolutions_of(links::ResNet50(), {3, 224, 224});
  return found;
}

}  // namespace kusari::cuda
