#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/quantization/histogram.h"
#include "kusari/framework/quantization/method.h"
#include "kusari/framework/quantization/quantizable_call.h"
#include "kusari/framework/quantization/quantized.h"

namespace kusari::quantization {

struct CalibratorOptions {
  Method method = min_max();  ///< how ranges follow from what was observed: min_max(), percentile(), entropy()
  /// Paths of links that stay as they are, with all below them: "/fc6"; or names of calls outside of links: "linear#3".
  std::vector<std::string> exclude = {};
  /// Inputs without negative numbers become uint8. Of others: false: int8 around 0, which integer kernels compute
  /// faster; true: uint8 with a zero point, which tells one-sided inputs more finely.
  bool zero_points = false;
};

/// What quantizing one call alone does to its result.
struct LayerError {
  std::string name;      ///< "/conv1", or "linear#3" outside of links
  std::string function;  ///< "convolution_2d"
  int64_t number;        ///< of the call among those that can be quantized, from 1
  double error;          ///< |y8 - y| / |y|, Euclidean norms over all elements
};

/// What all calibrators share.
class KUSARI_API CalibratorBase {
 protected:
  explicit CalibratorBase(CalibratorOptions options);
  void observe_call(Link& model, const Callable<void()>& call);
  Calibration calibration(const char* method) const;
  std::vector<LayerError> find_errors(const Callable<void()>& call) const;

 private:
  class Observer;
  class Probe;
  void apply_exclude();

  CalibratorOptions options_;
  std::optional<std::vector<QuantizableCall>> calls_;  // of the first batch
  std::vector<Histogram> histograms_;                  // of the ranges
  Device device_;
};

/// Finds the ranges of what the layers of a model get, and makes a model of 8 bits from them:
///
///     quantization::Calibrator calibrator(model, {.method = quantization::percentile(99.99), .exclude = {"/fc6"}});
///     for (const Array& x : batches) calibrator.observe(x);
///     auto int8 = calibrator.quantized();
///
/// What can be quantized are calls of F::linear, F::matmul, F::convolution_nd and their likes, depthwise and dilated
/// convolutions included, found by their names as the model runs: models need no change. It has a copy of the model
/// that shares the parameters' arrays; a model that was never called gets its parameters in the copy alone.
template <LinkType M>
class Calibrator : public CalibratorBase {
 public:
  explicit Calibrator(const M& model, CalibratorOptions options = {})
      : CalibratorBase(std::move(options)), model_{copy(model, CopyMode::share)} {}

  /// Calls the model, with config.train off and no graph, and looks at what its functions get. 100 to 500 examples will
  /// do. Throws ValueError for a name in `exclude` that is none of the model's, and for an input that has a NaN or an
  /// infinity; StateError when the model calls other functions than for the first batch. What is refused counts
  /// nowhere.
  template <std::convertible_to<Variable>... Inputs>
  requires std::invocable<M&, const Variable&, const Inputs&...>
  void observe(const Variable& x, const Inputs&... more) {
    Callable<void(M&)> call = [inputs = std::tuple<Variable, AsVariable<Inputs>...>(x, more...)](M& model) {
      std::apply([&](const auto&... each) { static_cast<void>(model(each...)); }, inputs);
    };
    observe_call(model_, [&] { call(model_); });
    last_call_ = std::move(call);
  }

  /// The model with quantized inputs and weights; its parameters are copies. Throws StateError before anything was
  /// observed.
  Quantized<M> quantized(const QuantizedOptions& options = {}) const {
    return {copy(model_, CopyMode::copy), calibration("quantized"), options};
  }

  /// What the calls that are quantized lose, the worst first, each computed as if it were the only one, on the inputs
  /// that were observed last: as many runs of the model as there are calls, and one. Throws StateError before anything
  /// was observed.
  std::vector<LayerError> errors() {
    return find_errors([this] { last_call_(model_); });
  }

 private:
  template <class>
  using AsVariable = Variable;

  M model_;
  Callable<void(M&)> last_call_;
};

}  // namespace kusari::quantization
